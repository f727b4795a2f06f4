"""Clients that drip or don't read are cut by their deadlines, with an answer where one can be given, and nobody else waits."""

from __future__ import annotations

import select
import time
from collections.abc import Iterator

import pytest

from arena import Server
from peer import Closed, Peer, request

DRIP_INTERVAL_S = 0.02


def test_a_dripped_head_is_cut(start_arena) -> None:
    server: Server = start_arena(head_timeout_ms=300)
    with server.connect() as slow:
        slow.send(b"GET / HTTP/1.1\r\nHost: a\r\n")
        drip_until_answered(server, slow, b"X-Drip: 1\r\n")
        assert_timed_out(slow)


def test_a_head_that_stops_is_cut(start_arena) -> None:
    server: Server = start_arena(head_timeout_ms=300)
    with server.connect() as slow:
        slow.send(b"GET / HT")
        assert_timed_out(slow)


def test_the_head_of_a_later_request_has_the_same_deadline(start_arena) -> None:
    server: Server = start_arena(head_timeout_ms=300)
    with server.connect() as slow:
        slow.request("GET", "/")
        assert slow.response().status == 200
        slow.send(b"GET / HT")
        assert_timed_out(slow)


@pytest.mark.parametrize("target", ["/echo", "/upload"])
def test_a_dripped_body_is_cut(start_arena, target: str) -> None:
    server: Server = start_arena(min_receive_rate_bytes_per_second=10_000, receive_rate_window_ms=300)
    with server.connect() as slow:
        slow.send(request("POST", target, Content_Length="1000000"))
        drip_until_answered(server, slow, b"x")
        assert_timed_out(slow)


@pytest.mark.parametrize("target", ["/echo", "/upload"])
def test_a_body_that_stops_is_cut(start_arena, target: str) -> None:
    server: Server = start_arena(min_receive_rate_bytes_per_second=10_000, receive_rate_window_ms=300)
    with server.connect() as slow:
        slow.send(request("POST", target, Content_Length="1000000") + bytes(70_000))
        assert_timed_out(slow)


def test_a_response_that_is_not_read_is_cut(start_arena) -> None:
    server: Server = start_arena(write_stall_timeout_ms=300)
    assert server.get("/") == b"Hello, World!"
    before = sockets_at_rest(server)
    with server.connect(receive_buffer_bytes=4_096) as slow:
        send_without_reading(slow, request("GET", "/json/50?m=1"))
        assert server.get("/") == b"Hello, World!"
        while server.open_sockets() > before:
            assert server.get("/") == b"Hello, World!"
            time.sleep(DRIP_INTERVAL_S)


def test_an_idle_connection_is_closed_without_a_word(start_arena) -> None:
    server: Server = start_arena(keep_alive_timeout_ms=300)
    with server.connect() as used, server.connect() as unused:
        used.request("GET", "/")
        assert used.response().status == 200
        for peer in (used, unused):
            with pytest.raises(Closed):
                peer.response()


def test_a_sleeping_handler_is_not_an_idle_connection(start_arena) -> None:
    deadlines = dict(keep_alive_timeout_ms=200, head_timeout_ms=200, receive_rate_window_ms=200)
    server: Server = start_arena(**deadlines, write_stall_timeout_ms=200)
    with server.connect() as peer:
        peer.request("GET", "/sleep/1000")
        assert peer.response().body == b"ok"


def test_many_slow_clients_do_not_keep_others_waiting(arena: Server) -> None:
    slow = list(slow_clients(arena, 100))
    for _ in range(20):
        assert arena.get("/") == b"Hello, World!"
    assert not any(peer.is_readable() for peer in slow), "cut long before the default deadlines"
    for peer in slow:
        peer.close()


def slow_clients(server: Server, count: int) -> Iterator[Peer]:
    """Clients that in turn stop within a head and within a body."""
    for index in range(count):
        peer = server.connect()
        peer.send(b"GET / HTTP/1.1\r\nX" if index % 2 == 0 else request("POST", "/echo", Content_Length="10"))
        yield peer


def drip_until_answered(server: Server, slow: Peer, drop: bytes) -> None:
    """Drips until the server answers or closes, while it serves others."""
    while True:
        assert server.get("/") == b"Hello, World!"
        if slow.is_readable():
            return
        slow.send(drop)
        time.sleep(DRIP_INTERVAL_S)


def send_without_reading(peer: Peer, message: bytes) -> None:
    """Sends requests until the server takes no more, because nobody takes its answers."""
    peer.socket.setblocking(False)
    patience_s = 0.2
    while select.select([], [peer], [], patience_s)[1]:
        try:
            peer.socket.send(message * 10)
        except BlockingIOError:
            continue
        except ConnectionError:
            return  # cut already
    peer.socket.setblocking(True)


def sockets_at_rest(server: Server) -> int:
    """The number of sockets that a server holds while nobody is connected."""
    before, now = -1, server.open_sockets()
    while before != now:
        time.sleep(DRIP_INTERVAL_S)
        before, now = now, server.open_sockets()
    return now


def assert_timed_out(peer: Peer) -> None:
    response = peer.response()
    assert (response.status, response.closes) == (408, True), response
    peer.expect_close()
