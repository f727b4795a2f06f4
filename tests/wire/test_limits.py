"""Every limit on what a request may be: at it is fine, past it has its status, and the connection closes."""

from __future__ import annotations

import pytest

from arena import ARENA, Server
from peer import Peer, chunked, request

KIB, MIB = 1024, 1024 * 1024


def test_request_line_by_default(arena: Server) -> None:
    for length, status in ((8 * KIB, 404), (8 * KIB + 1, 414)):
        with arena.connect() as peer:
            target = "/" + "x" * (length - len("GET / HTTP/1.1"))
            peer.request("GET", target)
            assert_status(peer, status)


def test_request_line_that_never_ends(peer: Peer) -> None:
    peer.send(b"GET /" + b"x" * 9 * KIB)
    assert_status(peer, 414)


def test_head_by_default(arena: Server) -> None:
    for length, status in ((16 * KIB, 200), (16 * KIB + 1, 431)):
        with arena.connect() as peer:
            empty = len(request("GET", "/", X_Long=""))
            peer.request("GET", "/", X_Long="x" * (length - empty))
            assert_status(peer, status)


def test_head_that_never_ends(peer: Peer) -> None:
    peer.send(b"GET / HTTP/1.1\r\nHost: a\r\nX-Long: " + b"x" * 17 * KIB)
    assert_status(peer, 431)


def test_fields_by_default(arena: Server) -> None:
    for count, status in ((100, 200), (101, 431)):
        with arena.connect() as peer:
            fields = {f"X-{index}": "1" for index in range(count - 1)}  # and Host
            peer.request("GET", "/", **fields)
            assert_status(peer, status)


def test_body_by_default(arena: Server) -> None:
    for length, status in ((2 * MIB, 200), (2 * MIB + 1, 413)):
        with arena.connect() as peer:
            peer.request("POST", "/echo", bytes(length))
            assert_status(peer, status)


def test_body_is_refused_before_it_is_read(peer: Peer) -> None:
    peer.send(request("POST", "/echo", Content_Length=str(2 * MIB + 1)))
    assert_status(peer, 413)


def test_body_is_refused_instead_of_continue(peer: Peer) -> None:
    peer.send(request("POST", "/echo", Content_Length=str(2 * MIB + 1), Expect="100-continue"))
    assert_status(peer, 413)


def test_chunked_body_by_default(peer: Peer) -> None:
    peer.send(chunked("POST", "/echo", [bytes(MIB), bytes(MIB), b"x"]))
    assert_status(peer, 413)


def test_streamed_bodies_have_no_limit_by_default(peer: Peer) -> None:
    peer.request("POST", "/upload", bytes(3 * MIB))
    assert int(peer.response().body) == 3 * MIB


@pytest.mark.parametrize(
    "limits, fits, exceeds, status",
    [
        (
            {"max_request_line_bytes": 32},
            request("GET", "/pipeline?xxxxxxxx"),
            request("GET", "/pipeline?" + "x" * 20),
            414,
        ),
        (
            {"max_head_bytes": 200, "max_request_line_bytes": 100},
            request("GET", "/pipeline", X_Long="x" * 100),
            request("GET", "/pipeline", X_Long="x" * 200),
            431,
        ),
        (
            {"max_headers": 3},
            request("GET", "/pipeline", X_A="1", X_B="1"),
            request("GET", "/pipeline", X_A="1", X_B="1", X_C="1"),
            431,
        ),
        ({"max_body_bytes": 10}, request("POST", "/echo", b"x" * 10), request("POST", "/echo", b"x" * 11), 413),
        (
            {"max_body_bytes": 10},
            chunked("POST", "/echo", [b"x" * 5, b"x" * 5]),
            chunked("POST", "/echo", [b"x" * 5, b"x" * 6]),
            413,
        ),
        ({"max_stream_bytes": 10}, request("POST", "/upload", b"x" * 10), request("POST", "/upload", b"x" * 11), 413),
    ],
)
def test_limits_can_be_set(start_arena, limits: dict[str, int], fits: bytes, exceeds: bytes, status: int) -> None:
    server: Server = start_arena(**limits)
    with server.connect() as peer:
        peer.send(fits)
        assert peer.response().status == 200
        peer.send(exceeds)
        assert_status(peer, status)


def test_connections_past_the_limit_wait_for_a_place(start_arena) -> None:
    server: Server = start_arena("--loops", "1", max_connections=4)
    connected = [server.connect() for _ in range(4)]
    for peer in connected:
        peer.request("GET", "/")
        assert peer.response().status == 200
    with server.connect() as waiting:
        waiting.request("GET", "/pipeline")
        for peer in connected:
            peer.request("GET", "/")
            assert peer.response().status == 200
        assert not waiting.is_readable(), "a fifth connection was served"
        connected.pop().close()
        assert waiting.response().body == b"ok"
    for peer in connected:
        peer.close()


@pytest.mark.parametrize(
    "name, value", [("head_timeout_ms", "soon"), ("head_timeout_ms", "0"), ("max_headers", "-1"), ("queue_capacity", "")]
)
def test_a_limit_that_cannot_be_is_named(name: str, value: str) -> None:
    with pytest.raises(AssertionError, match=f"(?i){name}"):
        Server(ARENA, "--listen", "127.0.0.1:0", limits={name: value})


def assert_status(peer: Peer, status: int) -> None:
    """The next response has `status`; a refusal is the last one."""
    response = peer.response()
    assert response.status == status, response
    if status in (413, 414, 431):
        assert response.closes, response
        peer.expect_close()
