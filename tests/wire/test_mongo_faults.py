"""A database that is slow, cut off or silent, while many ask for it: the rest of the server does not notice."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterator

import pytest

from arena import Server
from database import Database, Proxy, Wire
from offices import add, ask, office
from peer import Peer

pytestmark = pytest.mark.mongo

CLIENTS = 60
#: More than there are connections to the database.
RETURNED_CLIENTS = 150
REFUSED_PAUSE_S = 0.02
#: Longer than any test waits.
FOREVER_MS = 600_000
#: Enough that a request which needs no database comes first, however busy the machine.
LATENCY_MS = 2_000
#: As many queries as there may be: a connection each, and those that wait for one.
MAX_QUERIES = 100 + 300
#: What so many clients and their failures may cost; a queue of a few thousand requests would cost more.
MAX_GROWTH_KIB = 48 * 1024

#: Loops, standbys, the driver's own and those that look up names.
MAX_THREADS_BESIDE = 32

UNDER_WAY = "mongo_queries_under_way"
BREAKER_OPEN = "mongo_breaker_open"

FAULTS: dict[str, Callable[[Wire], None]] = {
    "latency": lambda wire: wire.delay(FOREVER_MS),
    "reset": Wire.reset,
    "black hole": Wire.swallow,
    "cut": Wire.cut,
}


@pytest.fixture
def wire(database: Database) -> Iterator[Wire]:
    """A way to the database that a test may break."""
    proxy = Proxy()
    yield proxy.wire(database.address)
    proxy.stop()


def start(start_arena, wire: Wire, *, connect_timeout_ms: int = 500, query_timeout_ms: int = 1_500) -> Server:
    times = f"serverSelectionTimeoutMS={connect_timeout_ms}&connectTimeoutMS={connect_timeout_ms}"
    uri = f"mongodb://{wire.address}/office?{times}"
    return start_arena("--mongodb-uri", uri, "--mongodb-query-timeout-ms", str(query_timeout_ms))


class Crowd:
    """Clients that ask for the same page, each on a connection of its own, until they are sent home. Only one that is refused
    pauses, or there would be no CPU left for the probe that finds the database well."""

    def __init__(self, server: Server, target: str) -> None:
        self.statuses: set[int] = set()
        self._server, self._target = server, target
        self._is_over = threading.Event()
        self._failures: list[BaseException] = []
        self._threads = [threading.Thread(target=self._ask, daemon=True) for _ in range(CLIENTS)]

    def __enter__(self) -> Crowd:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()
        assert not self._failures, self._failures

    def _ask(self) -> None:
        try:
            with self._server.connect() as peer:
                while not self._is_over.is_set():
                    self._ask_once(peer)
        except BaseException as failure:  # told by the thread that waits for this one
            self._failures.append(failure)

    def _ask_once(self, peer: Peer) -> None:
        peer.request("GET", self._target)
        answer = peer.response()
        self.statuses.add(answer.status)
        if answer.status == 503:
            assert int(answer.get("retry-after")) > 0, answer
            self._is_over.wait(REFUSED_PAUSE_S)


def ask_slowly(server, target: str, clients: int) -> list:
    peers = [server.connect() for _ in range(clients)]
    for peer in peers:
        peer.request("GET", target)
    return peers


def others_are_served_meanwhile(server, slow: list, wire: Wire) -> None:
    """While those wait, who are then answered: with the wire mended, since two connections at a time are made over it, and the last
    would come after half a minute."""
    assert server.get("/") == b"Hello, World!"
    assert not any(peer.is_readable() for peer in slow), "they were to be slow"
    wire.mend()
    assert [peer.response().status for peer in slow] == [200] * len(slow)
    for peer in slow:
        peer.close()


def test_a_slow_database_keeps_nobody_else_waiting(start_arena, wire: Wire) -> None:
    server = start(start_arena, wire, connect_timeout_ms=FOREVER_MS, query_timeout_ms=FOREVER_MS)
    there = add(server, office())
    wire.delay(LATENCY_MS)
    slow = ask_slowly(server, f"/mongo/office/{there['_id']}", CLIENTS)
    others_are_served_meanwhile(server, slow, wire)


def test_queries_that_are_returned_wait_without_threads(start_arena, wire: Wire) -> None:
    server = start(start_arena, wire, connect_timeout_ms=FOREVER_MS, query_timeout_ms=FOREVER_MS)
    there = add(server, office())
    wire.delay(LATENCY_MS)
    slow = ask_slowly(server, f"/mongo/office/{there['_id']}/later", RETURNED_CLIENTS)
    server.wait_for_figure(UNDER_WAY, RETURNED_CLIENTS)
    assert len(server.threads()) <= MAX_THREADS_BESIDE
    others_are_served_meanwhile(server, slow, wire)


def test_a_query_that_is_returned_ends_with_its_time(start_arena, wire: Wire) -> None:
    server = start(start_arena, wire)
    target = f"/mongo/office/{add(server, office())['_id']}/later"
    wire.swallow()
    with server.connect() as peer, server.connect() as gone:
        for client in (peer, gone):
            client.request("GET", target)
        gone.close()
        answer = peer.response()
    assert answer.status == 503 and int(answer.get("retry-after")) > 0, answer
    wire.mend()
    server.wait_for_figure(UNDER_WAY, 0)
    server.wait_for_figure(BREAKER_OPEN, 0)
    assert ask(server, "GET", target).status == 200


def test_a_query_that_is_returned_is_answered_before_the_server_ends(start_arena, wire: Wire) -> None:
    server = start(start_arena, wire, connect_timeout_ms=FOREVER_MS, query_timeout_ms=FOREVER_MS)
    there = add(server, office())
    wire.delay(LATENCY_MS)
    with server.connect() as peer:
        peer.request("GET", f"/mongo/office/{there['_id']}/later")
        server.wait_for_figure(UNDER_WAY, 1)
        server.signal(signal.SIGTERM)
        answer = peer.response()
        assert (answer.status, json.loads(answer.body), answer.closes) == (200, there, True)
        peer.expect_close()
    assert server.wait() == 0


@pytest.mark.parametrize("fault", FAULTS)
def test_a_database_that_fails_is_left_alone_and_found_again(start_arena, wire: Wire, fault: str) -> None:
    server = start(start_arena, wire)
    target = f"/mongo/office/{add(server, office())['_id']}"
    before_kib, threads = server.memory_kib("VmHWM"), 0
    with Crowd(server, target) as crowd:
        FAULTS[fault](wire)
        while server.metrics()[BREAKER_OPEN] == 0:
            threads = max(threads, len(server.threads()))
            assert server.metrics()[UNDER_WAY] <= MAX_QUERIES
        assert server.get("/") == b"Hello, World!"
        wire.mend()
        server.wait_for_figure(BREAKER_OPEN, 0)
    assert crowd.statuses == {200, 503}
    assert threads <= CLIENTS + MAX_THREADS_BESIDE
    assert server.memory_kib("VmHWM") - before_kib <= MAX_GROWTH_KIB
    server.wait_for_figure(UNDER_WAY, 0)
    assert ask(server, "GET", target).status == 200


def test_while_it_is_left_alone_it_is_not_asked(start_arena, wire: Wire) -> None:
    server = start(start_arena, wire)
    target = f"/mongo/office/{add(server, office())['_id']}"
    wire.swallow()
    while server.metrics()[BREAKER_OPEN] == 0:
        ask(server, "GET", target)
    answers = [ask(server, "GET", target) for _ in range(20)]
    assert all(answer.status == 503 and int(answer.get("retry-after")) > 0 for answer in answers), answers
    timed_out = 'mongo_query_errors_total{kind="timed_out"}'
    refused = 'mongo_query_errors_total{kind="unavailable"}'
    figures = server.metrics()
    assert figures[refused] > figures[timed_out], "most are answered without the database"
