"""Uploads while the program is killed, and while the disk is full."""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from arena import TAYET, Server
from uploads import Sending, append, ask, create, files, offset, stats

KILLS = 200
LENGTH = 24 * 1024 * 1024
SEED = 20261122
LONGEST_LIFE_S = 0.03
FULL_BYTES = 2 * 1024 * 1024


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", ["sequence", "ranges"])
def test_killed_at_any_moment_it_goes_on_at_a_true_offset(tmp_path: Path, kind: str) -> None:
    """Each upload ends complete and as it was sent, however often the server is killed on the way."""
    chance, directory = random.Random(SEED), tmp_path / "files"
    kills, uploads, location, content = 0, 0, None, b""
    while kills < KILLS // 2 or location is not None:
        server = Server(TAYET, "uploads", str(directory), "--listen", "127.0.0.1:0", "--fsync", "never")
        try:
            if location is None:
                content = chance.randbytes(LENGTH)
                location = create(server, LENGTH) if kind == "sequence" else begin_ranges(server)
                uploads += 1
            reached = offset(server, location) if kind == "sequence" else range_offset(server, location)
            assert_true(directory, location, content, reached)
            if reached == LENGTH:
                location = None
                continue
            send = Sending(server, location, reached, content[reached:]) if kind == "sequence" else None
            if send is None:
                send_ranges(server, location, reached, content, chance)
            time.sleep(chance.uniform(0, LONGEST_LIFE_S))
            kills += 1
        finally:
            server.kill()
    assert uploads == len(files(directory)), "each is complete, once"


def begin_ranges(server: Server) -> str:
    return ask(server, "POST", "/files", b"", Content_Range=f"bytes */{LENGTH}").get("location")


def range_offset(server: Server, location: str) -> int:
    return int(ask(server, "HEAD", location).get("upload-offset"))


def send_ranges(server: Server, location: str, reached: int, content: bytes, chance: random.Random) -> None:
    """Sends some parts, the next one last, so that there are gaps on the way."""
    part = 3 * 1024 * 1024
    starts = list(range(reached, min(LENGTH, reached + 3 * part), part))
    chance.shuffle(starts)
    for start in starts:
        end = min(LENGTH, start + part)
        ask(server, "PATCH", location, content[start:end], Content_Range=f"bytes {start}-{end - 1}/{LENGTH}")


def assert_true(directory: Path, location: str, content: bytes, reached: int) -> None:
    """Every byte that the server says it has is what was sent."""
    data = directory / ".uploads" / f"{location.rsplit('/', 1)[1]}.data"
    if data.exists():
        assert data.read_bytes()[:reached] == content[:reached]
    else:
        assert reached == LENGTH
        assert content in files(directory).values()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB, for which one must be root."""
    directory = tmp_path / "small"
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={FULL_BYTES}", "tmpfs", str(directory)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a file system can only be mounted by root, and not in every container")
    yield directory
    subprocess.run(["umount", "-l", str(directory)], check=True)


def test_a_full_disk_is_said_and_the_upload_goes_on_when_there_is_room(
    start_tayet: Callable[..., Server], small_disk: Path
) -> None:
    server = start_tayet("uploads", str(small_disk), "--listen", "127.0.0.1:0")
    content = random.Random(SEED).randbytes(2 * FULL_BYTES)
    location = create(server, len(content), Upload_Metadata="filename YQ==")
    assert append(server, location, 0, content).status == 507
    reached = offset(server, location)
    assert 0 < reached <= FULL_BYTES
    assert_true(small_disk, location, content, reached)
    assert stats(server)["failed"] == 1
    assert append(server, location, reached, content[reached:]).status == 507, "still full"
    subprocess.run(["mount", "-o", f"remount,size={4 * FULL_BYTES}", str(small_disk)], check=True)
    reached = offset(server, location)
    assert append(server, location, reached, content[reached:]).status == 204
    assert files(small_disk) == {"a": content}


def test_what_a_full_disk_cannot_take_is_gone_if_its_client_cannot_go_on(
    start_tayet: Callable[..., Server], small_disk: Path
) -> None:
    server = start_tayet("uploads", str(small_disk), "--listen", "127.0.0.1:0")
    content = random.Random(SEED).randbytes(2 * FULL_BYTES)
    mark = "--a-boundary"
    part = f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'.encode()
    form = b"".join((part, content, f"\r\n--{mark}--\r\n".encode()))
    form_type = f"multipart/form-data; boundary={mark}"
    assert ask(server, "PUT", "/files/a", content).status == 507
    assert ask(server, "POST", "/files", form, Content_Type=form_type).status == 507
    assert [path for path in small_disk.rglob("*") if path.is_file()] == []
    assert ask(server, "PUT", "/files/b", b"small").status == 201
    assert files(small_disk) == {"b": b"small"}
