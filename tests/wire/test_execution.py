"""Handlers that block delay nobody but their own connection.

Nothing here measures time: each test compares who was answered before whom.
"""

from __future__ import annotations

import select

import pytest

from arena import Server
from peer import TIMEOUT_S, Peer

# Long enough for the fast requests on any machine; the tests wait for it only once each.
SLEEP_MS = 3_000
FAST_REQUESTS = 50
KEEP_ALIVE_CONNECTIONS = 64
IDLE_CONNECTIONS = 300


@pytest.mark.parametrize(
    "execution, sleepers",
    [("task-pool", 1), ("task-pool", 64), ("thread-pool:4", 3), ("thread-pool:100", 64)],
)
def test_fast_requests_overtake_sleeping_ones(start_arena, execution: str, sleepers: int) -> None:
    server: Server = start_arena("--execution", execution)
    asleep = [server.connect() for _ in range(sleepers)]
    for peer in asleep:
        peer.request("GET", f"/sleep/{SLEEP_MS}")
    with server.connect() as fast:
        for _ in range(FAST_REQUESTS):
            fast.request("GET", "/")
            assert fast.response().body == b"Hello, World!"
    assert server.get("/pipeline") == b"ok"
    assert not any(peer.is_readable() for peer in asleep), "a sleeper was answered before the fast requests were"
    assert [peer.response().body for peer in asleep] == [b"ok"] * sleepers
    close(asleep)


def test_one_loop_goes_on_when_its_handler_blocks(start_arena) -> None:
    """The default model with a single loop: whatever thread the loop was on when the handler blocked."""
    server: Server = start_arena("--loops", "1")
    asleep = [server.connect() for _ in range(8)]
    for peer in asleep:
        peer.request("GET", f"/sleep/{SLEEP_MS}")
        assert server.get("/") == b"Hello, World!"
    assert not any(peer.is_readable() for peer in asleep)
    assert [peer.response().body for peer in asleep] == [b"ok"] * len(asleep)
    close(asleep)


def test_sleepers_of_one_connection_overtake_nothing_of_their_own(arena: Server) -> None:
    """Many connections, each with its own order."""
    peers = [arena.connect() for _ in range(16)]
    for peer in peers:
        peer.request("GET", "/sleep/20")
        peer.request("GET", "/")
        peer.request("GET", "/sleep/1")
    for peer in peers:
        assert [response.body for response in peer.responses(3)] == [b"ok", b"Hello, World!", b"ok"]
    close(peers)


def test_inline_runs_one_handler_after_another(start_arena) -> None:
    server: Server = start_arena("--execution", "inline", "--loops", "1")
    with server.connect() as first, server.connect() as second:
        first.request("GET", "/sleep/200")
        second.request("GET", "/")
        assert first.response().body == b"ok"
        assert second.response().body == b"Hello, World!"


@pytest.mark.parametrize("execution", ["task-pool", "thread-pool:8", "inline"])
def test_every_model_serves_every_kind_of_request(start_arena, execution: str) -> None:
    server: Server = start_arena("--execution", execution)
    with server.connect() as peer:
        peer.request("GET", "/")
        peer.request("POST", "/echo", b"x" * 100_000)
        peer.request("POST", "/upload", b"x" * 100_000)
        peer.request("GET", "/sleep/2")
        peer.request("GET", "/spin/2000")
        bodies = [response.body for response in peer.responses(5)]
        assert bodies == [b"Hello, World!", b"x" * 100_000, b"100000", b"ok", b"ok"]
    with server.connect() as peer:
        peer.request("GET", "/panic")
        assert peer.response().status == 500
    assert server.get("/") == b"Hello, World!"


def test_a_full_queue_refuses_with_retry_after(start_arena) -> None:
    server: Server = start_arena("--execution", "thread-pool:1", queue_capacity=1, retry_after_seconds=7)
    peers = [server.connect() for _ in range(8)]
    for peer in peers:
        peer.request("GET", "/sleep/2000")
    refused = first_answered(peers)
    first = refused.response()
    assert (first.status, first.get("retry-after")) == (503, "7"), "a refusal waits for nobody"
    statuses = [peer.response().status for peer in peers if peer is not refused]
    assert set(statuses) == {200, 503}
    assert statuses.count(200) <= 2, "one runs and one waits"
    close(peers)
    assert server.get("/") == b"Hello, World!"


def test_a_panicking_handler_gives_its_thread_back(start_arena) -> None:
    server: Server = start_arena("--execution", "thread-pool:2")
    for _ in range(10):
        with server.connect() as peer:
            peer.request("GET", "/panic")
            assert peer.response().status == 500
    assert server.get("/sleep/1") == b"ok"


def test_every_keep_alive_connection_is_answered_beside_idle_ones(arena: Server) -> None:
    idle = [arena.connect() for _ in range(IDLE_CONNECTIONS)]
    busy = [arena.connect() for _ in range(KEEP_ALIVE_CONNECTIONS)]
    for _ in range(3):
        for peer in busy:
            peer.request("GET", "/")
        assert [peer.response().body for peer in busy] == [b"Hello, World!"] * len(busy)
    for peer in idle:
        peer.request("GET", "/pipeline")
    assert [peer.response().body for peer in idle] == [b"ok"] * len(idle)
    close(idle + busy)


def test_a_client_that_leaves_while_its_handler_sleeps_harms_nobody(arena: Server) -> None:
    for _ in range(20):
        peer = arena.connect()
        peer.request("GET", "/sleep/30")
        peer.close()
    assert arena.get("/sleep/60") == b"ok"
    assert arena.is_running()


def first_answered(peers: list[Peer]) -> Peer:
    """The first of the peers that gets an answer."""
    readable, _, _ = select.select(peers, [], [], TIMEOUT_S)
    assert readable, "nobody was answered"
    return readable[0]


def close(peers: list[Peer]) -> None:
    for peer in peers:
        peer.close()
