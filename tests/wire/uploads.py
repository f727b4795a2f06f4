"""Asking `tayet uploads`."""

from __future__ import annotations

import json
import threading
from pathlib import Path

from arena import Server
from peer import Peer, Response

OFFSET_STREAM = "application/offset+octet-stream"
UPLOAD_RESUMPTION_SUPPORTED = 104
TUS = {"Tus_Resumable": "1.0.0"}


def create(server: Server, length: int | None, body: bytes = b"", **fields: str) -> str:
    """Creates an upload by tus, with its first bytes; where it is."""
    said = {"Upload_Defer_Length": "1"} if length is None else {"Upload_Length": str(length)}
    if body:
        said["Content_Type"] = OFFSET_STREAM
    created = ask(server, "POST", "/files", body, **TUS, **said, **fields)
    assert created.status == 201, created
    return created.get("location")


def append(server: Server, location: str, offset: int, body: bytes, **fields: str) -> Response:
    return ask(server, "PATCH", location, body, **patch_fields(offset), **fields)


def patch_fields(offset: int) -> dict[str, str]:
    return {**TUS, "Upload_Offset": str(offset), "Content_Type": OFFSET_STREAM}


def begin_append(peer: Peer, location: str, offset: int, length: int | None, some: bytes, **fields: str) -> None:
    """Sends the head of a PATCH of so many bytes (`None`: in chunks), and some of them."""
    begin(peer, "PATCH", location, length, some, **patch_fields(offset), **fields)


def begin(
    peer: Peer, method: str, target: str, length: int | None, some: bytes = b"", version: str = "1.1", **fields: str
) -> None:
    """Sends a request's head, with the framing for so long a body (`None`: in chunks), and some of that."""
    framing = {"Transfer_Encoding": "chunked"} if length is None else {"Content_Length": str(length)}
    lines = [f"{name.replace('_', '-')}: {value}\r\n" for name, value in {**framing, **fields}.items()]
    peer.send(f"{method} {target} HTTP/{version}\r\nHost: a\r\n{''.join(lines)}\r\n".encode() + some)


def offset(server: Server, location: str) -> int:
    head = ask(server, "HEAD", location, **TUS)
    assert head.status == 200, head
    return int(head.get("upload-offset"))


def ask(server: Server, method: str, target: str, body: bytes | None = None, **fields: str) -> Response:
    """The answer to one request on a connection of its own; what is told before it is passed over."""
    with server.connect() as peer:
        peer.request(method, target, body, **fields)
        while (response := peer.response(to_head=method == "HEAD")).status == UPLOAD_RESUMPTION_SUPPORTED:
            pass
        return response


def stats(server: Server) -> dict:
    return json.loads(server.get("/files/stats"))


def files(directory: Path) -> dict[str, bytes]:
    """What is finished."""
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


class Sending(threading.Thread):
    """Sends a PATCH in the background, however it ends."""

    def __init__(self, server: Server, location: str, offset: int, body: bytes) -> None:
        super().__init__(daemon=True)
        self._arguments = (server, location, offset, body)
        self.start()

    def run(self) -> None:
        server, location, offset, body = self._arguments
        try:
            append(server, location, offset, body)
        except Exception:
            pass  # the server was killed in the middle of it, which is the point
