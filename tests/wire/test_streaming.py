"""Bodies that are much larger than what a server may hold, in both directions.

`TAYET_WIRE_STREAM_MIB=10240` makes them 10 GiB.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest

from arena import Server
from peer import Peer, request

KIB, MIB = 1024, 1024 * 1024
STREAM_BYTES = int(os.environ.get("TAYET_WIRE_STREAM_MIB", "1024")) * MIB
# What streaming may cost, whatever is streamed.
STREAM_MEMORY_KIB = 16 * KIB

PART_HEAD = b'--b\r\nContent-Disposition: form-data; name="file"; filename="large"\r\n\r\n'
FORM_END = b"\r\n--b--\r\n"


@pytest.fixture
def flat(start_arena) -> Iterator[Server]:
    """A server that must not have needed more memory when the test is over."""
    server: Server = start_arena()
    before = server.memory_kib("VmRSS")
    yield server
    assert server.memory_kib("VmHWM") - before < STREAM_MEMORY_KIB


def test_an_upload_with_a_length(flat: Server) -> None:
    with flat.connect() as peer:
        peer.send(request("POST", "/upload", Content_Length=str(STREAM_BYTES)))
        send_stream(peer)
        assert int(peer.response().body) == STREAM_BYTES
        assert_alive(peer)


def test_an_upload_as_a_form(flat: Server) -> None:
    length = len(PART_HEAD) + STREAM_BYTES + len(FORM_END)
    content_type = "multipart/form-data; boundary=b"
    with flat.connect() as peer:
        peer.send(request("POST", "/multipart", Content_Length=str(length), Content_Type=content_type) + PART_HEAD)
        send_stream(peer)
        peer.send(FORM_END)
        parts = json.loads(peer.response().body)
        assert parts == [{"name": "file", "file_name": "large", "bytes": STREAM_BYTES}]
        assert_alive(peer)


def test_a_download(flat: Server) -> None:
    with flat.connect() as peer:
        peer.request("GET", f"/download/{STREAM_BYTES}")
        response = peer.head()
        assert int(response.get("content-length")) == STREAM_BYTES
        assert sum(map(len, peer.pieces(response))) == STREAM_BYTES
        assert_alive(peer)


def test_a_download_that_is_not_taken(flat: Server) -> None:
    """A client that takes nothing for a while costs its writer, and nothing else."""
    slow = [flat.connect(receive_buffer_bytes=4 * KIB) for _ in range(20)]
    for peer in slow:
        peer.request("GET", f"/download/{STREAM_BYTES}")
        assert int(peer.head().get("content-length")) == STREAM_BYTES
    assert flat.get("/") == b"Hello, World!"
    for peer in slow:
        peer.close()


def send_stream(peer: Peer) -> None:
    block = bytes(MIB)
    for _ in range(STREAM_BYTES // MIB):
        peer.send(block)


def assert_alive(peer: Peer) -> None:
    peer.request("GET", "/pipeline")
    assert peer.response().body == b"ok"
