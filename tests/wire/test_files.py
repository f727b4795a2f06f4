"""Files over the wire: whole, in part, conditionally, and never those outside of the directory."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from arena import Server
from peer import Peer, request

KIB, MIB = 1024, 1024 * 1024
# Around what is held, what is copied behind its head, and what one call to the kernel sends.
SIZES = [0, 1, 16 * KIB - 1, 16 * KIB, 16 * KIB + 1, 64 * KIB, 64 * KIB + 1, MIB, 4 * MIB + 1]
LARGE_BYTES = 64 * MIB
# What sending a large file may cost.
LARGE_MEMORY_KIB = 16 * KIB

Start = Callable[..., Server]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory to serve, with a secret beside it."""
    (tmp_path / "secret").write_text("secret")
    directory = tmp_path / "root"
    directory.mkdir()
    (directory / "a.txt").write_text("0123456789")
    (directory / ".env").write_text("secret")
    (directory / "link").symlink_to("../secret")
    return directory


def content(size: int) -> bytes:
    return (b"%015d\n" * (size // 16 + 1) % tuple(range(size // 16 + 1)))[:size] if size < 64 * KIB else os.urandom(size)


@pytest.mark.parametrize("execution", ["task-pool", "thread-pool:2", "inline"])
def test_files_of_every_size(start_arena: Start, root: Path, execution: str) -> None:
    server = start_arena("--static", str(root), "--execution", execution)
    files = {size: content(size) for size in SIZES}
    for size, data in files.items():
        (root / f"{size}.bin").write_bytes(data)
    with server.connect() as peer:
        # One behind the other, twice: the second time small ones may be held.
        peer.send(b"".join(request("GET", f"/static/{size}.bin") for size in [*SIZES, *SIZES]))
        for size in [*SIZES, *SIZES]:
            response = peer.response()
            assert (response.status, response.get("content-length")) == (200, str(size))
            assert digest(response.body) == digest(files[size]), size
        for size in SIZES:
            peer.request("HEAD", f"/static/{size}.bin")
            response = peer.response(to_head=True)
            assert (response.status, response.get("content-length")) == (200, str(size))


@pytest.mark.parametrize("size", [1000, 300_000])
def test_parts_are_parts_of_the_whole(start_arena: Start, root: Path, size: int) -> None:
    server = start_arena("--static", str(root))
    data = content(size)
    (root / "a.bin").write_bytes(data)
    with server.connect() as peer:
        for field, part in [("0-0", data[:1]), ("10-99", data[10:100]), (f"{size - 5}-", data[-5:]), ("-7", data[-7:])]:
            peer.request("GET", "/static/a.bin", Range=f"bytes={field}")
            response = peer.response()
            assert (response.status, response.body) == (206, part), field
        peer.request("GET", "/static/a.bin", Range="bytes=0-9,500-599,-10")
        response = peer.response()
        assert response.status == 206
        assert parts_of(response.get("content-type"), response.body) == [
            (f"bytes 0-9/{size}", data[:10]),
            (f"bytes 500-599/{size}", data[500:600]),
            (f"bytes {size - 10}-{size - 1}/{size}", data[-10:]),
        ]
        peer.request("GET", "/static/a.bin", Range=f"bytes={size}-")
        response = peer.response()
        assert (response.status, response.get("content-range")) == (416, f"bytes */{size}")
        # Many small ranges are not worth their while.
        peer.request("GET", "/static/a.bin", Range="bytes=" + ",".join(f"{n * 100}-{n * 100}" for n in range(500)))
        assert peer.response().body == data


def test_conditions_save_the_body(start_arena: Start, root: Path) -> None:
    server = start_arena("--static", str(root))
    with server.connect() as peer:
        peer.request("GET", "/static/a.txt")
        first = peer.response()
        peer.request("GET", "/static/a.txt", If_None_Match=first.get("etag"))
        peer.request("GET", "/static/a.txt", If_Modified_Since=first.get("last-modified"))
        peer.request("GET", "/static/a.txt", If_Match='"another"')
        peer.request("GET", "/static/a.txt", If_Range='"another"', Range="bytes=0-1")
        not_modified, not_since, failed, whole = peer.responses(4)
    assert (not_modified.status, not_since.status, failed.status, whole.status) == (304, 304, 412, 200)
    assert not_modified.get("etag") == first.get("etag") and whole.body == b"0123456789"


@pytest.mark.parametrize(
    "path",
    [
        "/../secret", "/%2e%2e/secret", "/..%2fsecret", "/%2e%2e%2fsecret", "/.%2e/secret", "/a.txt/../../secret",
        "//secret", "/./a.txt", "/a.txt%00", "/a.txt%00.html", "/%00", "/.env", "/%2eenv", "/link", "/%5c..%5csecret",
        "/..;/secret", "/%c0%ae%c0%ae/secret", "/%252e%252e/secret",
    ],
)  # fmt: skip
def test_no_path_leaves_the_directory(start_arena: Start, root: Path, path: str) -> None:
    server = start_arena("--static", str(root))
    for target in (f"/static{path}", f"http://arena.test/static{path}"):
        with server.connect() as peer:
            peer.request("GET", target)
            response = peer.response()
            assert response.status in (400, 404) and b"secret" not in response.body, target


def test_a_file_that_shrinks_ends_the_connection(start_arena: Start, root: Path) -> None:
    file = root / "large.bin"
    with file.open("wb") as large:
        large.truncate(LARGE_BYTES)
    server = start_arena("--static", str(root))
    with server.connect(receive_buffer_bytes=64 * KIB) as peer:
        peer.request("GET", "/static/large.bin")
        peer.socket.recv(1)
        os.truncate(file, MIB)
        received = drain(peer)
    assert received < LARGE_BYTES, "it lied about the length"
    assert server.get("/static/a.txt") == b"0123456789"


def test_a_slow_client_delays_nobody_and_costs_no_memory(start_arena: Start, root: Path) -> None:
    data = os.urandom(MIB) * (LARGE_BYTES // MIB)
    (root / "large.bin").write_bytes(data)
    server = start_arena("--static", str(root), "--loops", "1")
    assert server.get("/static/a.txt") == b"0123456789"
    before = server.memory_kib("VmRSS")
    with server.connect(receive_buffer_bytes=64 * KIB) as slow:
        slow.request("GET", "/static/large.bin")
        for _ in range(20):
            assert server.get("/static/a.txt") == b"0123456789"
        assert digest(slow.response().body) == digest(data)
    assert server.memory_kib("VmHWM") - before < LARGE_MEMORY_KIB


def test_a_client_that_takes_nothing_is_given_up(start_arena: Start, root: Path) -> None:
    with (root / "large.bin").open("wb") as large:
        large.truncate(LARGE_BYTES)
    server = start_arena("--static", str(root), write_stall_timeout_ms=300)
    with server.connect(receive_buffer_bytes=64 * KIB) as peer:
        peer.request("GET", "/static/large.bin")
        peer.socket.recv(1)  # so that its connection is counted
        server.wait_for_figure("tayet_connections_open", 1)  # the one that asks
        assert drain(peer) < LARGE_BYTES


def test_a_file_is_replaced_as_a_whole(start_arena: Start, root: Path) -> None:
    """Whichever state of a file is served, its entity tag is that of its bytes."""
    server = start_arena("--static", str(root))
    contents_of_tags: dict[str, set[bytes]] = {}
    with server.connect() as peer:
        for round_number in range(300):
            (root / "new").write_bytes(b"%06d" % (round_number // 3) * (1 if round_number % 2 else 20_000))
            (root / "new").rename(root / "file.txt")
            peer.request("GET", "/static/file.txt")
            response = peer.response()
            assert response.status == 200 and len(set(re.findall(rb".{6}", response.body))) == 1
            contents_of_tags.setdefault(response.get("etag"), set()).add(response.body)
    assert all(len(contents) == 1 for contents in contents_of_tags.values())


def test_the_command_serves_a_directory(start_tayet: Start, root: Path) -> None:
    (root / "docs").mkdir()
    server = start_tayet("serve", str(root), "--list", "--cache", "60", "--cors", "--listen", "127.0.0.1:0")
    with server.connect() as peer:
        peer.request("GET", "/a.txt", Origin="https://app.example")
        response = peer.response()
        assert (response.body, response.get("cache-control")) == (b"0123456789", "max-age=60")
        assert response.get("access-control-allow-origin") == "*"
        peer.request("GET", "/docs")
        assert (response := peer.response()).status == 308 and response.get("location") == "./docs/"
        peer.request("GET", "/?sort=size&order=descending")
        page = peer.response().body.decode()
        assert 'href="./a.txt"' in page and 'href="./docs/"' in page and ".env" not in page


def test_the_command_serves_an_application(start_tayet: Start, root: Path) -> None:
    (root / "index.html").write_text("app")
    (root / "app.js").write_text("plain")
    (root / "app.js.br").write_bytes(b"brotli")
    (root / "style.css").write_text("a{}" * KIB)
    server = start_tayet("serve", str(root), "--spa", "--compress", "--listen", "127.0.0.1:0")
    assert server.get("/users/7") == b"app"
    with server.connect() as peer:
        peer.request("GET", "/missing.js")
        assert peer.response().status == 404
        peer.request("GET", "/app.js", Accept_Encoding="gzip, br")
        response = peer.response()
        assert (response.body, response.get("content-encoding")) == (b"brotli", "br")
        assert response.get("vary").lower() == "accept-encoding"
        peer.request("GET", "/style.css", Accept_Encoding="gzip")
        response = peer.response()
        assert response.get("content-encoding") == "gzip" and len(response.body) < KIB
        peer.request("GET", "/style.css", Accept_Encoding="gzip", If_None_Match=response.get("etag"))
        assert peer.response().status == 304


def drain(peer: Peer) -> int:
    """Reads to the end, whichever it is, and counts."""
    received = 0
    try:
        while data := peer.socket.recv(64 * KIB):
            received += len(data)
    except ConnectionResetError:
        pass
    return received


def parts_of(content_type: str, body: bytes) -> list[tuple[str, bytes]]:
    """The parts of a multipart/byteranges body, each with its range."""
    boundary = re.fullmatch(r"multipart/byteranges; boundary=(\w+)", content_type)[1].encode()
    assert body.endswith(b"\r\n--" + boundary + b"--\r\n")
    pieces = (b"\r\n" + body).removesuffix(b"--\r\n").split(b"\r\n--" + boundary)[1:-1]
    parts = []
    for piece in pieces:
        head, data = piece.removeprefix(b"\r\n").split(b"\r\n\r\n", 1)
        parts.append((re.search(rb"content-range: ([^\r]+)", head, re.IGNORECASE)[1].decode(), data))
    return parts


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
