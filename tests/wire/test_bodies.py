"""Request bodies of every size and cut, held and streamed."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from arena import Server
from peer import Peer, chunked, request

KIB, MIB = 1024, 1024 * 1024
SIZES = [0, 1, 2, 63, 1023, 1024, 4095, 16 * KIB - 1, 16 * KIB, 16 * KIB + 1, 64 * KIB, 64 * KIB + 1, 300_007, MIB]
UPLOAD_BYTES = 64 * MIB
# What streaming may cost; a server that holds the body needs four times as much.
UPLOAD_MEMORY_KIB = 16 * KIB


@pytest.mark.parametrize("size", SIZES)
def test_a_body_with_a_length_cut_anywhere(peer: Peer, size: int) -> None:
    chance = random.Random(size)
    body = chance.randbytes(size)
    for part in cuts(request("POST", "/echo", body), chance):
        peer.send(part)
    assert_same(peer.response().body, body)


@pytest.mark.parametrize("size", SIZES)
def test_a_chunked_body_cut_anywhere(peer: Peer, size: int) -> None:
    chance = random.Random(size)
    body = chance.randbytes(size)
    for part in cuts(chunked("POST", "/echo", cuts(body, chance)), chance):
        peer.send(part)
    assert_same(peer.response().body, body)


@pytest.mark.parametrize("size", SIZES)
def test_a_streamed_body_cut_anywhere(peer: Peer, size: int) -> None:
    chance = random.Random(size)
    body = chance.randbytes(size)
    for message in (request("POST", "/upload", body), chunked("POST", "/upload", cuts(body, chance))):
        for part in cuts(message, chance):
            peer.send(part)
        assert int(peer.response().body) == size


def test_bodies_of_all_sizes_follow_each_other(peer: Peer) -> None:
    """What is left in a buffer after one body must be the beginning of the next message."""
    chance = random.Random(11)
    bodies = [chance.randbytes(chance.choice([0, 1, 17, 5_000, 70_000])) for _ in range(40)]
    for index, body in enumerate(bodies):
        peer.send(request("POST", "/echo", body) if index % 2 else chunked("POST", "/echo", cuts(body, chance)))
        assert_same(peer.response().body, body)


def test_a_page_that_ignores_the_body_leaves_the_connection_in_order(peer: Peer) -> None:
    for body in (b"x", b"x" * 5_000):
        peer.send(request("POST", "/no-such-page", body) + request("GET", "/pipeline"))
        assert peer.response().status == 404
        assert peer.response().body == b"ok"


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_a_large_upload_is_not_held_in_memory(start_arena, framing: str) -> None:
    server: Server = start_arena()
    before = server.memory_kib("VmRSS")
    block = bytes(MIB)
    with server.connect() as peer:
        if framing == "length":
            peer.send(request("POST", "/upload", Content_Length=str(UPLOAD_BYTES)))
            for _ in range(UPLOAD_BYTES // len(block)):
                peer.send(block)
        else:
            peer.send(request("POST", "/upload", Transfer_Encoding="chunked"))
            for _ in range(UPLOAD_BYTES // len(block)):
                peer.send(b"%x\r\n%b\r\n" % (len(block), block))
            peer.send(b"0\r\n\r\n")
        assert int(peer.response().body) == UPLOAD_BYTES
    assert server.memory_kib("VmHWM") - before < UPLOAD_MEMORY_KIB


def test_an_upload_that_breaks_off_leaves_the_server_well(arena: Server, peer: Peer) -> None:
    for target in ("/upload", "/echo"):
        with arena.connect() as other:
            other.send(request("POST", target, Content_Length="1000000") + bytes(1000))
    peer.request("GET", "/pipeline")
    assert peer.response().body == b"ok"


def cuts(data: bytes, chance: random.Random) -> Iterator[bytes]:
    """`data` in pieces of random sizes, small and large ones alike."""
    start = 0
    while start < len(data):
        size = chance.choice([chance.randint(1, 7), chance.randint(1, 3_000), chance.randint(1, 200_000)])
        yield data[start : start + size]
        start += size


def assert_same(actual: bytes, expected: bytes) -> None:
    """Compares without printing a megabyte when it fails."""
    if actual != expected:
        difference = next((i for i, (a, b) in enumerate(zip(actual, expected)) if a != b), "the shorter's end")
        pytest.fail(f"{len(actual)} bytes instead of {len(expected)}, first difference at {difference}")
