"""Where the arena can listen, and how it says that it cannot."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import pytest

from arena import ARENA, Server, environment


def test_port_0_is_a_free_port_that_is_named(arena: Server) -> None:
    assert arena.port != 0
    assert arena.get("/pipeline") == b"ok"


def test_ipv6(start_arena) -> None:
    server: Server = start_arena("--listen", "[::1]:0")
    assert server.addresses[0].family == socket.AF_INET6
    assert server.get("/pipeline") == b"ok"


def test_a_unix_socket(start_arena, tmp_path: Path) -> None:
    path = tmp_path / "arena.sock"
    server: Server = start_arena("--listen", f"unix:{path}")
    assert server.get("/pipeline") == b"ok"
    server.stop()
    assert not path.exists(), "the socket's file outlives its server"


def test_a_unix_socket_left_by_a_dead_server_is_replaced(start_arena, tmp_path: Path) -> None:
    path = tmp_path / "arena.sock"
    dead: Server = start_arena("--listen", f"unix:{path}")
    dead.kill()
    dead.wait()
    assert path.exists()
    server: Server = start_arena("--listen", f"unix:{path}")
    assert server.get("/pipeline") == b"ok"


def test_several_addresses_at_once(start_arena, tmp_path: Path) -> None:
    texts = ["127.0.0.1:0", "127.0.0.1:0", "[::1]:0", f"unix:{tmp_path / 'arena.sock'}"]
    server: Server = start_arena(*[word for text in texts for word in ("--listen", text)])
    assert len(set(server.addresses)) == len(texts)
    for address in server.addresses:
        with server.connect(address) as peer:
            peer.request("GET", "/pipeline")
            assert peer.response().body == b"ok"


@pytest.mark.parametrize("loops", [1, 2, 5])
def test_connections_reach_every_number_of_loops(start_arena, loops: int) -> None:
    server: Server = start_arena("--loops", str(loops))
    for _ in range(20):
        assert server.get("/pipeline") == b"ok"


@pytest.mark.parametrize(
    "flags, complaint",
    [
        (["--listen", "nonsense"], "nonsense"),
        (["--listen", "127.0.0.1:99999"], "99999"),
        (["--listen", "127.0.0.1:0", "--execution", "fibers"], "fibers"),
        (["--listen", "127.0.0.1:0", "--execution", "thread-pool:0"], "thread-pool:0"),
        (["--listen", "127.0.0.1:0", "--loops", "0"], "loops"),
        (["--listen", "127.0.0.1:0", "--io", "kqueue"], "kqueue"),
        (["--no-such-flag"], "--no-such-flag"),
    ],
)
def test_bad_flags_are_named(flags: list[str], complaint: str) -> None:
    result = run_to_its_end(flags)
    assert result.returncode not in (0, 101), "101 is a panic"
    assert complaint in result.stderr


def test_an_address_in_use_is_named(arena: Server) -> None:
    result = run_to_its_end(["--listen", f"127.0.0.1:{arena.port}"])
    assert result.returncode not in (0, 101)
    assert str(arena.port) in result.stderr


def run_to_its_end(flags: list[str]) -> subprocess.CompletedProcess[str]:
    """The arena, expected to end by itself."""
    return subprocess.run(
        [ARENA, *flags], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20, env=environment({})
    )
