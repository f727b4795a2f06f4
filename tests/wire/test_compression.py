"""Compressed answers, as clients negotiate them, and compressed uploads."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard

from arena import Server
from peer import Peer, Response, chunked, request

KIB, MIB = 1024, 1024 * 1024
DOWNLOAD_BYTES = 64 * MIB
# What streaming may cost, whatever is streamed.
STREAM_MEMORY_KIB = 16 * KIB

# Decoders that take a body piece by piece.
DECODERS: dict[str, Callable[[], Callable[[bytes], bytes]]] = {
    "gzip": lambda: zlib.decompressobj(wbits=16 + zlib.MAX_WBITS).decompress,
    "deflate": lambda: zlib.decompressobj().decompress,
    "br": lambda: brotli.Decompressor().process,
    "zstd": lambda: zstandard.ZstdDecompressor().decompressobj().decompress,
}
ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.compress,
}


@pytest.mark.parametrize("coding", DECODERS)
def test_json_in_every_coding(arena: Server, peer: Peer, coding: str) -> None:
    peer.request("GET", "/json-comp/50?m=3", Accept_Encoding=coding)
    response = peer.response()
    assert response.get("content-encoding") == coding
    assert response.get("vary") == "accept-encoding"
    content = DECODERS[coding]()(response.body)
    assert json.loads(content) == json.loads(arena.get("/json/50?m=3"))
    assert int(response.get("content-length")) < len(content) / 3


@pytest.mark.parametrize(
    "accepted, coding",
    [
        (None, None),
        ("", None),
        ("identity", None),
        ("*;q=0", None),
        ("identity;q=0", None),
        ("gzip, deflate, br, zstd", "zstd"),
        ("gzip, deflate, br", "br"),
        ("br;q=0.1, gzip;q=0.2", "gzip"),
        ("*, zstd;q=0", "br"),
        ("compress;q=1, gzip;q=0.001", "gzip"),
    ],
)
def test_negotiation(peer: Peer, accepted: str | None, coding: str | None) -> None:
    fields = {} if accepted is None else {"Accept_Encoding": accepted}
    peer.request("GET", "/json-comp/50", **fields)
    response = peer.response()
    assert (response.status, response.get("content-encoding")) == (200, coding)
    assert response.get("vary") == "accept-encoding"


def test_fields_of_several_lines_are_one(peer: Peer) -> None:
    head = b"GET /json-comp/50 HTTP/1.1\r\nHost: a\r\n"
    peer.send(head + b"Accept-Encoding: gzip;q=0.5\r\nAccept-Encoding: br\r\n\r\n")
    assert peer.response().get("content-encoding") == "br"


@pytest.mark.parametrize("target", ["/json-comp/50", "/download/1000000", "/download/10"])
def test_head_has_the_fields_of_get(peer: Peer, target: str) -> None:
    peer.request("HEAD", target, Accept_Encoding="gzip")
    head = peer.response(to_head=True)
    peer.request("GET", target, Accept_Encoding="gzip")
    get = peer.response()
    assert [field for field in head.fields if field[0] != "date"] == [field for field in get.fields if field[0] != "date"]


@pytest.mark.parametrize("coding", DECODERS)
def test_a_large_answer_is_compressed_while_it_is_sent(start_arena, coding: str) -> None:
    server: Server = start_arena()
    before = server.memory_kib("VmRSS")
    decode, length = DECODERS[coding](), 0
    with server.connect() as peer:
        peer.request("GET", f"/download/{DOWNLOAD_BYTES}", Accept_Encoding=coding)
        response = peer.head()
        assert response.get("transfer-encoding") == "chunked"
        for piece in peer.pieces(response):
            length += len(decode(piece))
        assert length == DOWNLOAD_BYTES
        peer.request("GET", "/pipeline")
        assert peer.response().body == b"ok", "the connection goes on"
    assert server.memory_kib("VmHWM") - before < STREAM_MEMORY_KIB


def test_a_written_answer_for_http_1_0_ends_with_the_connection(peer: Peer) -> None:
    peer.send(b"GET /download/1000000 HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n")
    response = peer.response()
    assert response.get("transfer-encoding") is None and response.closes
    assert len(gzip.decompress(response.body)) == 1_000_000


@pytest.mark.parametrize("coding", [None, *DECODERS])
def test_what_is_flushed_comes_at_once(peer: Peer, coding: str | None) -> None:
    """Each piece is sent only when the one before has come back."""
    fields = {"Accept_Encoding": coding} if coding else {}
    decode = DECODERS[coding]() if coding else bytes
    peer.send(request("POST", "/relay", Transfer_Encoding="chunked", **fields))
    response: Response | None = None
    events = [f"data: event {number}\n\n".encode() for number in range(20)]
    for event in events:
        peer.send(b"%x\r\n%b\r\n" % (len(event), event))
        if response is None:
            response = peer.head()
            assert response.get("content-encoding") == coding
            pieces = peer.pieces(response)
        came = b""
        while len(came) < len(event):
            came += decode(next(pieces))
        assert came == event
    peer.send(b"0\r\n\r\n")
    assert b"".join(decode(piece) for piece in pieces) == b""
    assert response.trailers == [("x-bytes", str(sum(map(len, events))))]


@pytest.mark.parametrize("coding", ENCODERS)
def test_a_compressed_upload(peer: Peer, coding: str) -> None:
    body = bytes(range(256)) * 5_000
    encoded = ENCODERS[coding](body)
    for message in (
        request("POST", "/inflate", encoded, Content_Encoding=coding),
        chunked("POST", "/inflate", [encoded[:100], encoded[100:]], Content_Encoding=coding),
    ):
        peer.send(message)
        response = peer.response()
        assert (response.status, response.body) == (200, str(len(body)).encode())


@pytest.mark.parametrize("coding", ENCODERS)
def test_a_bomb_is_refused_without_being_held(start_arena, coding: str) -> None:
    server: Server = start_arena()
    before = server.memory_kib("VmRSS")
    bomb = ENCODERS[coding](bytes(65 * MIB))
    with server.connect() as peer:
        peer.send(request("POST", "/inflate", bomb, Content_Encoding=coding))
        response = peer.response()
        assert response.status == 413, response
        assert b"larger than 67108864 bytes" in response.body
    assert server.memory_kib("VmHWM") - before < STREAM_MEMORY_KIB


@pytest.mark.parametrize("coding", ENCODERS)
def test_a_broken_upload(arena: Server, coding: str) -> None:
    encoded = ENCODERS[coding](b"warp and weft")
    for body in (encoded[:-1], encoded + b"x", b"nonsense"):
        with arena.connect() as peer:
            peer.send(request("POST", "/inflate", body, Content_Encoding=coding))
            assert peer.response().status == 400


def test_an_unknown_coding(peer: Peer) -> None:
    peer.send(request("POST", "/inflate", b"x", Content_Encoding="lzma"))
    response = peer.response()
    assert (response.status, response.get("accept-encoding")) == (415, "gzip, deflate, br, zstd")
