"""A WebSocket client that sends exactly the frames it is told to, and checks every one that comes back."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from arena import Server
from peer import Peer, Response

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
MASK = b"\x37\xfa\x21\x3d"
# The example of RFC 6455 section 1.3.
KEY, ACCEPT = "dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
DEFLATE_TAIL = b"\x00\x00\xff\xff"


@dataclass(frozen=True)
class Frame:
    """A frame as a server sends it."""

    fin: bool
    rsv1: bool
    opcode: int
    payload: bytes


def frame(opcode: int, payload: bytes = b"", *, fin: bool = True, rsv: int = 0, mask: bytes | None = MASK) -> bytes:
    """A client's frame (RFC 6455 section 5.2); `rsv` is the three reserved bits, `mask=None` leaves it unmasked."""
    head = bytes([fin << 7 | rsv << 4 | opcode])
    masked = 0x80 if mask is not None else 0
    if len(payload) < 126:
        head += bytes([masked | len(payload)])
    elif len(payload) < 1 << 16:
        head += bytes([masked | 126]) + struct.pack("!H", len(payload))
    else:
        head += bytes([masked | 127]) + struct.pack("!Q", len(payload))
    if mask is None:
        return head + payload
    return head + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))


def close(code: int | None = None, reason: bytes = b"") -> bytes:
    """A close frame."""
    return frame(CLOSE, (b"" if code is None else struct.pack("!H", code)) + reason)


def deflated(payload: bytes, window_bits: int = 15) -> bytes:
    """A message's payload as RFC 7692 section 7.2.1 compresses it, with a window of its own."""
    compressor = zlib.compressobj(wbits=-window_bits)
    return (compressor.compress(payload) + compressor.flush(zlib.Z_SYNC_FLUSH)).removesuffix(DEFLATE_TAIL)


def inflated(payload: bytes) -> bytes:
    """What `deflated` had, or a server."""
    return zlib.decompressobj(wbits=-15).decompress(payload + DEFLATE_TAIL)


class WebSocket:
    """An open WebSocket."""

    def __init__(self, peer: Peer, answer: Response) -> None:
        self.peer = peer
        self.answer = answer

    @classmethod
    def open(cls, server: Server, path: str = "/ws", **fields: str) -> WebSocket:
        """Shakes hands; more header fields may be given, `_` for `-`."""
        peer = server.connect()
        peer.send(handshake(path, **fields))
        answer = peer.head()
        assert answer.status == 101, answer
        assert answer.get("sec-websocket-accept") == ACCEPT
        return cls(peer, answer)

    def __enter__(self) -> WebSocket:
        return self

    def __exit__(self, *_: object) -> None:
        self.peer.close()

    def send(self, data: bytes) -> None:
        self.peer.send(data)

    def receive(self) -> Frame | None:
        """The next frame; `None` when the server ends the connection in order."""
        first = self.peer.read(1)
        if not first:
            return None
        opcode = first[0] & 0x0F
        assert first[0] & 0x30 == 0, "a reserved bit that nothing was agreed on"
        length = self._exactly(1)[0]
        assert length < 0x80, "a server masks nothing"
        if length == 126:
            (length,) = struct.unpack("!H", self._exactly(2))
            assert length >= 126, "not the shortest form"
        elif length == 127:
            (length,) = struct.unpack("!Q", self._exactly(8))
            assert length >= 1 << 16, "not the shortest form"
        return Frame(bool(first[0] & 0x80), bool(first[0] & 0x40), opcode, self._exactly(length))

    def message(self) -> tuple[int, bytes]:
        """The next frame, which is a whole message that is not compressed."""
        received = self.receive()
        assert received is not None, "the server has closed"
        assert received.fin and not received.rsv1, received
        return received.opcode, received.payload

    def end(self) -> tuple[int | None, list[tuple[int, bytes]]]:
        """Everything up to the end: the close frame's code (1005 for none in it; `None` for no frame), and what came before."""
        before = []
        while (received := self.receive()) is not None:
            if received.opcode == CLOSE:
                assert self.receive() is None, "nothing comes behind a close frame"
                code = struct.unpack("!H", received.payload[:2])[0] if received.payload else 1005
                received.payload[2:].decode()
                return code, before
            before.append((received.opcode, received.payload))
        return None, before

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self.peer.read(count - len(data))
            assert part, "the server ended within a frame"
            data += part
        return data


def handshake(path: str = "/ws", **fields: str) -> bytes:
    """A client's opening handshake; a field that is given replaces the usual one, or is left out if it is empty."""
    head = {
        "host": "arena.example",
        "upgrade": "websocket",
        "connection": "Upgrade",
        "sec-websocket-key": KEY,
        "sec-websocket-version": "13",
    } | {name.replace("_", "-"): value for name, value in fields.items()}
    lines = [f"{name}: {value}\r\n" for name, value in head.items() if value]
    return f"GET {path} HTTP/1.1\r\n{''.join(lines)}\r\n".encode()
