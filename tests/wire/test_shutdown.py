"""SIGTERM and SIGINT finish what is under way and take nothing new; a second one ends at once."""

from __future__ import annotations

import signal
import time

import pytest

from arena import POLL_INTERVAL_S, Server
from peer import Closed, request

# Longer than it takes to see that the handlers run and that nobody else is let in.
SLEEP_MS = 3_000
# Far longer than the test: a handler that must not be waited for.
ENDLESS_MS = 50_000


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
# In a thread pool, the handler that gives the figures is busy too.
@pytest.mark.parametrize("execution, busy", [("task-pool", 2), ("thread-pool:4", 3)])
def test_requests_under_way_are_finished(start_arena, number: signal.Signals, execution: str, busy: int) -> None:
    server: Server = start_arena("--execution", execution)
    with server.connect() as first, server.connect() as second:
        for peer in (first, second):
            peer.request("GET", f"/sleep/{SLEEP_MS}")
        server.wait_for_figure("tayet_threads_busy", busy)
        server.signal(number)
        wait_until_refused(server)
        assert not first.is_readable(), "the request was over before the server stopped listening"
        for peer in (first, second):
            response = peer.response()
            assert (response.status, response.body, response.closes) == (200, b"ok", True)
            peer.expect_close()
    assert server.wait() == 0


def test_an_upload_under_way_is_finished(start_arena) -> None:
    server: Server = start_arena()
    with server.connect() as peer:
        peer.send(request("POST", "/upload", Content_Length="100000", Expect="100-continue"))
        assert peer.response().status == 100  # the handler reads
        server.signal(signal.SIGTERM)
        wait_until_refused(server)
        peer.send(bytes(100_000))
        assert peer.response().body.strip() == b"100000"
        peer.expect_close()
    assert server.wait() == 0


def test_idle_connections_are_closed(start_arena) -> None:
    server: Server = start_arena()
    with server.connect() as used, server.connect() as unused:
        used.request("GET", "/")
        assert used.response().status == 200
        server.wait_for_figure("tayet_connections_open", 3)  # the third is the one that asks
        server.signal(signal.SIGTERM)
        for peer in (used, unused):
            with pytest.raises(Closed):
                peer.response()
    assert server.wait() == 0


def test_an_idle_server_ends(start_arena) -> None:
    server: Server = start_arena()
    server.signal(signal.SIGTERM)
    assert server.wait() == 0


def test_a_second_signal_ends_at_once(start_arena) -> None:
    server: Server = start_arena()
    with server.connect() as peer:
        peer.request("GET", f"/sleep/{ENDLESS_MS}")
        server.wait_for_figure("tayet_threads_busy", 1)
        server.signal(signal.SIGTERM)
        wait_until_refused(server)
        assert server.is_running()
        server.signal(signal.SIGTERM)
        assert server.wait() != 0, "requests were given up: that is no success"


def test_the_deadline_ends_what_does_not_end(start_arena) -> None:
    server: Server = start_arena(shutdown_deadline_ms=300)
    with server.connect() as peer:
        peer.request("GET", f"/sleep/{ENDLESS_MS}")
        server.wait_for_figure("tayet_threads_busy", 1)
        server.signal(signal.SIGTERM)
        server.wait()
        with pytest.raises((Closed, ConnectionResetError)):
            peer.response()


def wait_until_refused(server: Server) -> None:
    """Waits until the server takes no new connections."""
    while True:
        try:
            server.connect().close()
        except ConnectionRefusedError:
            return
        except ConnectionResetError:
            pass  # it was still in the listener's queue when that was closed
        time.sleep(POLL_INTERVAL_S)
