"""tuspy, a public client of tus, as its users use it."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from tusclient.client import TusClient

from arena import Server
from places import Bucket, Directory
from uploads import offset, stats

PART_BYTES = 256 * 1024


def test_tuspy_uploads_in_parts_with_checksums(
    start_tayet: Callable[..., Server], place: Directory | Bucket, tmp_path: Path
) -> None:
    server = start_tayet("uploads", *place.arguments, "--listen", "127.0.0.1:0")
    source = tmp_path / "cloth.bin"
    source.write_bytes(random.Random(1).randbytes(3 * PART_BYTES + 17))
    client = TusClient(f"{server.url}/files/")
    uploader = client.uploader(
        str(source), chunk_size=PART_BYTES, metadata={"filename": "cloth.bin"}, upload_checksum=True
    )
    uploader.upload()
    assert place.files() == {"cloth.bin": source.read_bytes()}


def test_tuspy_goes_on_after_the_server_was_killed(
    start_tayet: Callable[..., Server], place: Directory | Bucket, tmp_path: Path
) -> None:
    first = start_tayet("uploads", *place.arguments, "--listen", "127.0.0.1:0")
    source = tmp_path / "cloth.bin"
    source.write_bytes(random.Random(2).randbytes(3 * PART_BYTES))
    uploader = TusClient(f"{first.url}/files/").uploader(
        str(source), chunk_size=PART_BYTES, metadata={"filename": "cloth.bin"}
    )
    uploader.upload_chunk()
    location = uploader.url.removeprefix(first.url)
    first.kill()
    first.has_ended = True
    second = start_tayet("uploads", *place.arguments, "--listen", "127.0.0.1:0")
    assert offset(second, location) == PART_BYTES
    TusClient(f"{second.url}/files/").uploader(
        str(source), chunk_size=PART_BYTES, url=f"{second.url}{location}"
    ).upload()
    assert place.files() == {"cloth.bin": source.read_bytes()}
    assert stats(second)["received_bytes"] == 2 * PART_BYTES, "it did not begin anew"
