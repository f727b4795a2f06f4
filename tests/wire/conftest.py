"""What the wire tests share: one server for those that leave it as it is, and a way to start others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from arena import ARENA, TAYET, Server
from database import Database
from peer import Peer
from places import CREDENTIALS, Bucket, Directory, running_bucket


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


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """FerretDB, shared by a module's tests: each has offices of its own."""
    database = Database(tmp_path_factory.mktemp("ferretdb"))
    yield database
    database.stop()


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """An empty bucket, for which the environment has the keys."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    yield from running_bucket(tmp_path / "buckets")


@pytest.fixture(params=["directory", "bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Directory | Bucket:
    """Where uploads go: each of the stores in turn."""
    if request.param == "bucket":
        return request.getfixturevalue("bucket")
    return Directory(tmp_path / "files")


def stop_all(servers: list[Server]) -> None:
    """Stops every server, also when one of them does not stop well."""
    failures = []
    for server in servers:
        try:
            server.stop()
        except AssertionError as failure:
            failures.append(failure)
    assert not failures, failures
