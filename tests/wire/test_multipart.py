"""Forms with files, from clients that people use and cut anywhere."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import time
from pathlib import Path

import pytest
from urllib3.filepost import encode_multipart_formdata

from arena import POLL_INTERVAL_S, PROFILE, TARGET, Server
from peer import Peer, Response, chunked, request

KIB = 1024
BOUNDARY = "AaB03x"
EXAMPLE = TARGET / PROFILE / "examples" / "20_forms_with_files"


def test_a_form_of_urllib3(peer: Peer) -> None:
    body, content_type = encode_multipart_formdata(
        {"title": "Loom", "draft": ("Grüße.txt", b"\r\n--" * 100, "text/plain"), "empty": ("", b"")}
    )
    peer.send(request("POST", "/multipart", body, Content_Type=content_type))
    assert parts_of(peer.response()) == [("title", None, 4), ("draft", "Grüße.txt", 400), ("empty", "", 0)]


def test_a_form_of_curl(arena: Server, tmp_path: Path) -> None:
    large = tmp_path / "a large file.bin"
    large.write_bytes(random.Random(5).randbytes(3_000_000))
    fields = ["-F", "title=Loom", "-F", f"file=@{large}", "-F", f"file=@{large};filename=a\"b.txt"]
    output = subprocess.run(["curl", "-sS", *fields, f"{arena.url}/multipart"], check=True, capture_output=True).stdout
    (title, first, second) = [tuple(part.values()) for part in json.loads(output)]
    assert title == ("title", None, 4)
    assert first == ("file", "a large file.bin", 3_000_000)
    # By its version, curl escapes a quote as HTML does or as MIME does.
    assert second in [("file", 'a"b.txt', 3_000_000), ("file", "a%22b.txt", 3_000_000)]


@pytest.mark.parametrize("seed", range(10))
def test_a_form_cut_anywhere(peer: Peer, seed: int) -> None:
    chance = random.Random(seed)
    contents = [look_alike(chance) for _ in range(chance.randint(1, 20))]
    body = form([(f"n{index}", f"f{index}", content) for index, content in enumerate(contents)])
    for message in (post(body), chunked_post(body, chance)):
        start = 0
        while start < len(message):
            size = chance.choice([1, chance.randint(1, 50), chance.randint(1, 100_000)])
            peer.send(message[start : start + size])
            start += size
        expected = [(f"n{index}", f"f{index}", len(content)) for index, content in enumerate(contents)]
        assert parts_of(peer.response()) == expected


@pytest.mark.parametrize(
    "body, content_type, status, detail",
    [
        (b"{}", "application/json", 415, "must be multipart/form-data"),
        (b"x", "multipart/form-data", 400, "no valid boundary"),
        (b"x", 'multipart/form-data; boundary="a b "', 400, "no valid boundary"),
        (b"no form", None, 400, "ends before its last boundary"),
        (b"--AaB03x\r\n\r\nx\r\n--AaB03x--", None, 400, "Content-Disposition"),
        (b"--AaB03x\r\nContent-Disposition: form-data; name=a\n\nx\r\n--AaB03x--", None, 400, "ends before"),
        (b"--AaB03x\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--AaB03", None, 400, "ends before"),
        (b"--AaB03x\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--AaB03xy\r\n", None, 400, "boundary line"),
        (b"--AaB03x\r\n" + b"x" * 9 * KIB, None, 413, "header of more than 8192 bytes"),
        (b"x" * 2 * KIB, None, 413, "more than 1024 bytes outside"),
        (
            b"--AaB03x\r\nContent-Disposition: form-data; name=a\r\n\r\n" + b"x" * (256 * KIB + 1) + b"\r\n--AaB03x--",
            None,
            413,
            "field of more than 262144 bytes",
        ),
        (b"--AaB03x\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n" * 257, None, 413, "more than 256 fields"),
    ],
)
def test_a_form_that_is_refused(
    arena: Server, body: bytes, content_type: str | None, status: int, detail: str
) -> None:
    content_type = content_type or f"multipart/form-data; boundary={BOUNDARY}"
    with arena.connect() as peer:
        peer.send(request("POST", "/multipart", body, Content_Type=content_type))
        response = peer.response()
        assert response.status == status, response
        assert detail in json.loads(response.body)["detail"]
    assert arena.get("/") == b"Hello, World!"


def test_a_form_that_is_refused_before_it_has_come(peer: Peer) -> None:
    content_type = f"multipart/form-data; boundary={BOUNDARY}"
    peer.send(request("POST", "/multipart", Content_Type=content_type, Content_Length="100000000") + b"x" * 2 * KIB)
    response = peer.response()
    assert response.status == 413 and response.closes


def test_a_full_disk_is_said_and_left_clean(tmp_path: Path) -> None:
    """On a file system of 1 MiB that only the example sees."""
    if subprocess.run(["unshare", "--mount", "--map-root-user", "true"]).returncode != 0:
        pytest.skip("a file system of its own needs a mount namespace, which this system does not give")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    mounted = 'mount -t tmpfs -o size=1m none "$UPLOADS" && exec "$0"'
    example = subprocess.Popen(
        ["unshare", "--mount", "--map-root-user", "sh", "-c", mounted, EXAMPLE],
        env=os.environ | {"PORT": str(port), "UPLOADS": str(tmp_path)},
        stdout=subprocess.PIPE,
    )
    try:
        assert example.stdout.readline().startswith(b"http://")
        uploads = Path(f"/proc/{example.pid}/root{tmp_path}")
        for size, status in ((500_000, 200), (2_000_000, 507), (100_000, 200)):
            response = upload(port, form([("file", f"{size}.bin", bytes(size))]))
            assert response.status == status, response
        assert sorted(path.name for path in uploads.iterdir()) == ["100000.bin", "500000.bin"]
    finally:
        example.kill()
        example.wait()


def upload(port: int, body: bytes) -> Response:
    while True:
        try:
            connection = socket.create_connection(("127.0.0.1", port))
            break
        except ConnectionRefusedError:
            time.sleep(POLL_INTERVAL_S)
    with Peer(connection) as peer:
        peer.send(post(body).replace(b"/multipart", b"/uploads", 1))
        return peer.response()


def form(parts: list[tuple[str, str, bytes]]) -> bytes:
    body = b""
    for name, file_name, content in parts:
        disposition = f'Content-Disposition: form-data; name="{name}"; filename="{file_name}"'
        body += b"--%b\r\n%b\r\n\r\n%b\r\n" % (BOUNDARY.encode(), disposition.encode(), content)
    return body + b"--%b--\r\n" % BOUNDARY.encode()


def post(body: bytes) -> bytes:
    return request("POST", "/multipart", body, Content_Type=f"multipart/form-data; boundary={BOUNDARY}")


def chunked_post(body: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(body))
    content_type = f"multipart/form-data; boundary={BOUNDARY}"
    return chunked("POST", "/multipart", [body[:at], body[at:]], Content_Type=content_type)


def look_alike(chance: random.Random) -> bytes:
    """Content that often looks as if a boundary came."""
    pieces = [b"\r", b"\n", b"\r\n", b"\r\n--", b"\r\n--AaB03", b"-", b"AaB03x", bytes(chance.randint(0, 90_000))]
    return b"".join(chance.choice(pieces) for _ in range(chance.randint(0, 12))).replace(b"\r\n--AaB03x", b"")


def parts_of(response: Response) -> list[tuple[str, str | None, int]]:
    assert response.status == 200, response
    return [(part["name"], part["file_name"], part["bytes"]) for part in json.loads(response.body)]
