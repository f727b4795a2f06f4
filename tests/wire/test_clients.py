"""Clients that people use: curl, urllib3, http.client and wrk."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import urllib3

from arena import Server

MIB = 1024 * 1024


def test_curl_gets(arena: Server) -> None:
    for version in ("--http1.1", "--http1.0"):
        assert curl(version, f"{arena.url}/") == b"Hello, World!"
    assert json.loads(curl(f"{arena.url}/json/3?m=2"))["count"] == 3


def test_curl_keeps_its_connection(arena: Server) -> None:
    output = curl("--write-out", "%{num_connects}", *[f"{arena.url}/pipeline"] * 3)
    assert output == b"ok1ok0ok0"


def test_curl_asks_for_the_head(arena: Server) -> None:
    head = curl("--head", f"{arena.url}/")
    assert head.startswith(b"HTTP/1.1 200") and b"\r\ncontent-length: 13\r\n" in head.lower()


def test_curl_posts(arena: Server, tmp_path: Path) -> None:
    body = tmp_path / "body"
    body.write_bytes(bytes(range(256)) * 4096)
    url = f"{arena.url}/echo"
    # curl asks with Expect: 100-continue before it sends a body of this size.
    assert curl("--data-binary", f"@{body}", url) == body.read_bytes()
    assert curl("--data-binary", f"@{body}", "--header", "Transfer-Encoding: chunked", url) == body.read_bytes()
    assert curl("--data", "20", f"{arena.url}/baseline11?a=13&b=42") == b"75"
    assert curl("--upload-file", str(body), "--request", "POST", f"{arena.url}/upload").strip() == b"%d" % MIB


def test_curl_over_a_unix_socket(start_arena, tmp_path: Path) -> None:
    path = tmp_path / "arena.sock"
    start_arena("--listen", f"unix:{path}")
    assert curl("--unix-socket", str(path), "http://arena.test/pipeline") == b"ok"


def test_http_client_keeps_its_connection(arena: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", arena.port, timeout=20)
    connection.connect()
    own_socket = connection.sock
    for index in range(20):
        body = b"x" * (index * 5_000)
        connection.request("POST", "/echo", body)
        response = connection.getresponse()
        assert (response.status, response.read()) == (200, body)
        assert connection.sock is own_socket, "the connection was not kept"
    connection.close()


def test_urllib3_keeps_its_connections(arena: Server) -> None:
    with urllib3.HTTPConnectionPool("127.0.0.1", arena.port, maxsize=8, block=True, retries=False) as pool:

        def fetch(count: int) -> int:
            return pool.request("GET", f"/json/{count}?m=1").json()["count"]

        counts = [index % 50 + 1 for index in range(200)]
        with ThreadPoolExecutor(8) as threads:
            assert list(threads.map(fetch, counts)) == counts
        assert pool.num_connections <= 8


def test_urllib3_streams(arena: Server) -> None:
    with urllib3.PoolManager(retries=False) as pool:
        parts = (bytes(50_000) for _ in range(20))
        response = pool.request("POST", f"{arena.url}/upload", body=parts, chunked=True)
        assert int(response.data) == 20 * 50_000


@pytest.mark.parametrize("execution", ["task-pool", "thread-pool:4", "inline"])
def test_wrk_sees_no_error(start_arena, execution: str) -> None:
    server: Server = start_arena("--execution", execution)
    command = ["wrk", "--threads", "1", "--connections", "64", "--duration", "1s", f"{server.url}/"]
    output = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=True)
    assert int(re.search(r"(\d+) requests in", output.stdout)[1]) > 0
    assert "Non-2xx" not in output.stdout and "Socket errors" not in output.stdout, output.stdout


def curl(*arguments: str) -> bytes:
    """What curl prints; fails when curl does."""
    command = ["curl", "--silent", "--show-error", "--max-time", "20", *arguments]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=30)
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout
