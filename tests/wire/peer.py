"""A client that sends exactly the bytes it is told to, and believes nothing about what comes back."""

from __future__ import annotations

import re
import select
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

TIMEOUT_S = 20
READ_BYTES = 64 * 1024
MAX_HEAD_BYTES = 64 * 1024

_STATUS_LINE = re.compile(rb"HTTP/1\.1 ([1-5][0-9][0-9]) ([\x20-\x7e]*)")
_FIELD_LINE = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([\x21-\x7e\x80-\xff \t]*?)[ \t]*")
_CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]+)")


@dataclass(frozen=True)
class Response:
    """A response as it came over the wire."""

    status: int
    fields: list[tuple[str, str]]
    body: bytes
    trailers: list[tuple[str, str]]

    def all(self, name: str) -> list[str]:
        """Every value of a field."""
        return [value for field, value in self.fields if field.lower() == name.lower()]

    def get(self, name: str) -> str | None:
        """The value of a field that comes at most once."""
        values = self.all(name)
        assert len(values) <= 1, f"{name} comes {len(values)} times"
        return values[0] if values else None

    @property
    def closes(self) -> bool:
        return "close" in [option.strip().lower() for value in self.all("connection") for option in value.split(",")]


class Closed(Exception):
    """The server closed the connection, in order, where a response would begin."""


class Peer:
    """One connection. Reading is strict: anything that RFC 9112 doesn't let a server send fails the test."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(TIMEOUT_S)
        if connection.family != socket.AF_UNIX:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = connection
        self._received = bytearray()

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def fileno(self) -> int:
        return self.socket.fileno()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def send_bytewise(self, data: bytes) -> None:
        """Each byte in a segment of its own."""
        for index in range(len(data)):
            self.socket.sendall(data[index : index + 1])

    def request(self, method: str, target: str, body: bytes | None = None, **fields: str) -> None:
        """Sends one whole request; `body` goes with its Content-Length."""
        self.send(request(method, target, body, **fields))

    def response(self, *, to_head: bool = False) -> Response:
        """The next response, interim ones included. Raises `Closed` if there is none."""
        response = self.head()
        has_body = not (to_head or response.status < 200 or response.status in (204, 304))
        return replace(response, body=b"".join(self.pieces(response))) if has_body else response

    def head(self) -> Response:
        """The next response's status and fields; if it has a body, `pieces` reads that."""
        status, fields = self._head()
        response = Response(status, fields, b"", [])
        assert not (status < 200 or status == 204) or not response.all("content-length"), response
        assert status < 200 or response.get("date"), f"no Date in {response}"
        return response

    def pieces(self, response: Response) -> Iterator[bytes]:
        """The body of a response as it comes. Its trailers are the response's when all of it has."""
        length, codings = response.get("content-length"), response.get("transfer-encoding")
        assert not (length and codings), response
        if codings is not None:
            assert codings.lower() == "chunked", response
            yield from self._chunks(response)
        elif length is not None:
            assert re.fullmatch(r"[0-9]+", length), response
            yield from self._sized(int(length))
        else:
            assert response.closes, f"no framing, and not the last: {response}"
            while self._received or self._receive():
                yield self._taken()

    def read(self, count: int) -> bytes:
        """At most so many bytes of what is no longer HTTP; none at the end."""
        return self._taken(count) if self._received or self._receive() else b""

    def responses(self, count: int) -> list[Response]:
        return [self.response() for _ in range(count)]

    def expect_close(self) -> None:
        """Fails unless the server closes the connection in order without sending more."""
        assert not self._received and self._receive() == b"", f"not closed, but: {bytes(self._received[:200])!r}"

    def is_readable(self) -> bool:
        """Whether something, even the end, has come by now."""
        return bool(self._received) or bool(select.select([self.socket], [], [], 0)[0])

    def _head(self) -> tuple[int, list[tuple[str, str]]]:
        while b"\r\n\r\n" not in self._received:
            assert len(self._received) < MAX_HEAD_BYTES, "the response's head does not end"
            if not self._receive():
                if not self._received:
                    raise Closed
                raise AssertionError(f"closed within a head: {bytes(self._received)!r}")
        head, self._received = self._received.split(b"\r\n\r\n", 1)
        status_line, *field_lines = bytes(head).split(b"\r\n")
        status = _STATUS_LINE.fullmatch(status_line)
        assert status, f"malformed status line: {status_line!r}"
        return int(status[1]), [field_of(line) for line in field_lines]

    def _sized(self, count: int) -> Iterator[bytes]:
        while count > 0:
            assert self._received or self._receive(), f"closed with {count} bytes missing"
            piece = self._taken(count)
            count -= len(piece)
            yield piece

    def _taken(self, count: int | None = None) -> bytes:
        """What has been received, at most so many bytes."""
        piece = bytes(self._received[:count])
        del self._received[:count]
        return piece

    def _chunks(self, response: Response) -> Iterator[bytes]:
        while True:
            size = _CHUNK_LINE.fullmatch(self._line())
            assert size, "malformed chunk size"
            if int(size[1], 16) == 0:
                break
            yield self._exactly(int(size[1], 16))
            assert self._line() == b"", "a chunk overruns its size"
        while line := self._line():
            name, value = field_of(line)
            assert name.lower() in response.all("trailer"), f"{name} was not announced"
            response.trailers.append((name, value))

    def _line(self) -> bytes:
        while b"\r\n" not in self._received:
            assert self._receive(), "closed within a line"
        line, self._received = self._received.split(b"\r\n", 1)
        return bytes(line)

    def _exactly(self, count: int) -> bytes:
        while len(self._received) < count:
            assert self._receive(), f"closed after {len(self._received)} of {count} bytes"
        body = bytes(self._received[:count])
        del self._received[:count]
        return body

    def _receive(self) -> bytes:
        data = self.socket.recv(READ_BYTES)
        self._received += data
        return data


def field_of(line: bytes) -> tuple[str, str]:
    """A field line's name and value."""
    field = _FIELD_LINE.fullmatch(line)
    assert field, f"malformed field line: {line!r}"
    return field[1].decode(), field[2].decode("latin-1")


def request(method: str, target: str, body: bytes | None = None, **fields: str) -> bytes:
    """A whole request. A field's name is written with underscores for hyphens; `Host` comes by itself."""
    lines = [f"{method} {target} HTTP/1.1", "Host: arena.test"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")


def chunked(method: str, target: str, chunks: Iterable[bytes], *, trailers: bytes = b"", **fields: str) -> bytes:
    """A whole request with a chunked body."""
    head = request(method, target, Transfer_Encoding="chunked", **fields)
    body = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks if chunk)
    return head + body + b"0\r\n" + trailers + b"\r\n"
