"""What the wire tests share: one server for those that leave it as it is, and a way to start others."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from arena import ARENA, TAYET, Server
from peer import Peer


@pytest.fixture(scope="session")
def arena() -> Iterator[Server]:
    """The arena with its default settings, shared by all tests that only send requests."""
    server = Server(ARENA, "--listen", "127.0.0.1:0")
    yield server
    server.stop()


@pytest.fixture
def peer(arena: Server) -> Iterator[Peer]:
    """A new connection to the shared arena; whatever the test did with it, the arena must live on."""
    with arena.connect() as connection:
        yield connection
    assert arena.get("/") == b"Hello, World!"


@pytest.fixture
def start_arena() -> Iterator[Callable[..., Server]]:
    """Starts an arena with flags and limits of the test's own; it must end well when the test is over."""
    servers = []

    def start(*flags: str, **limits: object) -> Server:
        if "--listen" not in flags:
            flags = ("--listen", "127.0.0.1:0", *flags)
        servers.append(Server(ARENA, *flags, limits=limits))
        return servers[-1]

    yield start
    stop_all(servers)


@pytest.fixture
def start_tayet() -> Iterator[Callable[..., Server]]:
    """Starts the `tayet` program, the project's main job."""
    servers = []

    def start(*flags: str, **limits: object) -> Server:
        servers.append(Server(TAYET, *flags, limits=limits))
        return servers[-1]

    yield start
    stop_all(servers)


def stop_all(servers: list[Server]) -> None:
    """Stops every server, also when one of them does not stop well."""
    failures = []
    for server in servers:
        try:
            server.stop()
        except AssertionError as failure:
            failures.append(failure)
    assert not failures, failures
