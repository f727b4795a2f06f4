"""Where a request comes from when proxies are in between: the PROXY protocol and forwarded fields, both opt-in.

The access log says whom the server believes to be the client.
"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from arena import Server, lines_of
from peer import Closed, request

GET = request("GET", "/pipeline")
V2_SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
V2_TCP4 = struct.pack("!4s4sHH", bytes([203, 0, 113, 7]), bytes([127, 0, 0, 1]), 4711, 80)
V2_TCP6 = struct.pack("!16s16sHH", b"\x20\x01\x0d\xb8" + bytes(11) + b"\x07", bytes(15) + b"\x01", 4711, 80)


def v2(command: int, family: int, payload: bytes) -> bytes:
    return V2_SIGNATURE + struct.pack("!BBH", 0x20 | command, family, len(payload)) + payload


HEADERS = [
    pytest.param(b"PROXY TCP4 203.0.113.7 127.0.0.1 4711 80\r\n", "203.0.113.7", id="v1-ipv4"),
    pytest.param(b"PROXY TCP6 2001:db8::7 ::1 4711 80\r\n", "2001:db8::7", id="v1-ipv6"),
    pytest.param(b"PROXY UNKNOWN\r\n", "127.0.0.1", id="v1-unknown"),
    pytest.param(v2(1, 0x11, V2_TCP4), "203.0.113.7", id="v2-ipv4"),
    pytest.param(v2(1, 0x21, V2_TCP6), "2001:db8::7", id="v2-ipv6"),
    pytest.param(v2(1, 0x11, V2_TCP4 + b"\x04\x00\x03abc"), "203.0.113.7", id="v2-extension"),
    pytest.param(v2(0, 0x00, b""), "127.0.0.1", id="v2-local"),
]

BROKEN_HEADERS = [
    pytest.param(b"", id="none"),
    pytest.param(b"PROXY TCP4 203.0.113.7 127.0.0.1 4711\r\n", id="v1-short"),
    pytest.param(b"PROXY TCP4 2001:db8::7 ::1 4711 80\r\n", id="v1-wrong-family"),
    pytest.param(b"PROXY TCP4 203.0.113.7 127.0.0.1 4711 99999\r\n", id="v1-port"),
    pytest.param(b"PROXY TCP4 " + b"2" * 200 + b"\r\n", id="v1-long"),
    pytest.param(b"proxy TCP4 203.0.113.7 127.0.0.1 4711 80\r\n", id="v1-case"),
    pytest.param(V2_SIGNATURE + b"\x11\x11\x00\x0c" + V2_TCP4, id="v2-version"),
    pytest.param(v2(1, 0x11, V2_TCP4[:8]), id="v2-short"),
]


@pytest.mark.parametrize("header, client", HEADERS)
@pytest.mark.parametrize("bytewise", [False, True], ids=["whole", "bytewise"])
def test_a_proxy_says_who_connects(start_arena, tmp_path: Path, header: bytes, client: str, bytewise: bool) -> None:
    server, log = with_log(start_arena, tmp_path, "--proxy-protocol")
    with server.connect() as peer:
        (peer.send_bytewise if bytewise else peer.send)(header + GET * 2)
        assert [response.body for response in peer.responses(2)] == [b"ok", b"ok"]
    assert clients(log, 2) == [client, client]


@pytest.mark.parametrize("header", BROKEN_HEADERS)
def test_a_connection_without_its_header_is_cut(start_arena, header: bytes) -> None:
    server: Server = start_arena("--proxy-protocol")
    with server.connect() as peer:
        peer.send(header + GET)
        with pytest.raises((Closed, ConnectionResetError)):
            peer.response()
    assert server.is_running()


def test_a_header_that_stops_is_cut(start_arena) -> None:
    server: Server = start_arena("--proxy-protocol", head_timeout_ms=300)
    with server.connect() as peer:
        peer.send(b"PROXY TCP4 203.")
        with pytest.raises((Closed, ConnectionResetError)):
            peer.response()


def test_nobody_is_believed_unasked(start_arena, tmp_path: Path) -> None:
    server, log = with_log(start_arena, tmp_path)
    with server.connect() as peer:
        peer.send(b"PROXY TCP4 203.0.113.7 127.0.0.1 4711 80\r\n" + GET)
        assert peer.response().status == 400
    with server.connect() as peer:
        peer.request("GET", "/pipeline", X_Forwarded_For="203.0.113.7", Forwarded="for=203.0.113.7")
        assert peer.response().body == b"ok"
    assert clients(log, 1) == ["127.0.0.1"], "a refused request is in no log"


@pytest.mark.parametrize(
    "forwarded_for, client",
    [
        ("203.0.113.7", "203.0.113.7"),
        ("198.51.100.9, 203.0.113.7", "203.0.113.7"),
        ("203.0.113.7, 127.0.0.1", "203.0.113.7"),
        ("2001:db8::7", "2001:db8::7"),
    ],
)
def test_a_trusted_proxy_is_believed(start_arena, tmp_path: Path, forwarded_for: str, client: str) -> None:
    """The last address that is no trusted proxy's: what stands before it, anybody may have written."""
    server, log = with_log(start_arena, tmp_path, "--trusted-proxies", "127.0.0.0/8")
    with server.connect() as peer:
        peer.request("GET", "/pipeline", X_Forwarded_For=forwarded_for)
        assert peer.response().body == b"ok"
    assert clients(log, 1) == [client]


def with_log(start_arena, tmp_path: Path, *flags: str) -> tuple[Server, Path]:
    log = tmp_path / "access.log"
    return start_arena(*flags, access_log="common", access_log_file=log), log


def clients(log: Path, count: int) -> list[str]:
    """The first word of each line of a log in the common format, once so many have been written."""
    return [line.split()[0] for line in lines_of(log, count)]
