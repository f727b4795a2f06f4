"""WebSockets by the letter (RFC 6455, RFC 7692): the cases of the public suites as a table of our own, over the wire."""

from __future__ import annotations

import os
import zlib

import pytest
from websockets.sync.client import connect

from arena import Server
from web_socket import (
    BINARY,
    CLOSE,
    CONTINUATION,
    DEFLATE_TAIL,
    PING,
    PONG,
    TEXT,
    WebSocket,
    close,
    deflated,
    frame,
    handshake,
    inflated,
)

EXTENSIONS = "permessage-deflate"


@pytest.fixture
def socket(arena: Server):
    with WebSocket.open(arena) as socket:
        yield socket
    assert arena.get("/") == b"Hello, World!"


# Handshake


def test_the_handshake_of_the_rfc(arena: Server) -> None:
    with WebSocket.open(arena) as socket:
        assert socket.answer.get("upgrade") == "websocket"
        assert socket.answer.get("connection").lower() == "upgrade"
        assert socket.answer.all("sec-websocket-protocol") == socket.answer.all("sec-websocket-extensions") == []


@pytest.mark.parametrize(
    "fields, status",
    [
        ({"upgrade": ""}, 426),
        ({"upgrade": "h2c"}, 426),
        ({"connection": "keep-alive"}, 400),
        ({"sec_websocket_version": "12"}, 426),
        ({"sec_websocket_version": ""}, 400),
        ({"sec_websocket_key": ""}, 400),
        ({"sec_websocket_key": "c2hvcnQ="}, 400),
        ({"sec_websocket_key": "not base64 at all!!!!!!="}, 400),
        ({"sec_websocket_protocol": "a,,a"}, 400),
        ({"sec_websocket_protocol": "a b"}, 400),
        ({"sec_websocket_extensions": "permessage-deflate; ="}, 400),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
    ],
)
def test_a_handshake_that_is_refused(arena: Server, fields: dict[str, str], status: int) -> None:
    with arena.connect() as peer:
        peer.send(handshake(**fields))
        response = peer.response()
        assert response.status == status, response
        assert (response.get("sec-websocket-version") == "13") == (status == 426)
        peer.request("GET", "/")
        assert peer.response().body == b"Hello, World!", "a refused handshake leaves the connection as it was"


@pytest.mark.parametrize("origin", ["http://arena.example", "https://ARENA.example", "http://arena.example:80"])
def test_pages_of_the_same_host_are_let_in(arena: Server, origin: str) -> None:
    WebSocket.open(arena, origin=origin).peer.close()


def test_frames_right_behind_the_handshake_are_not_lost(arena: Server) -> None:
    with arena.connect() as peer:
        peer.send(handshake(connection="keep-alive, Upgrade", upgrade="WebSocket") + frame(TEXT, b"early"))
        assert WebSocket(peer, peer.head()).message() == (TEXT, b"early")


def test_a_request_before_the_handshake_is_answered_first(arena: Server) -> None:
    with arena.connect() as peer:
        peer.send(b"GET /sleep/20 HTTP/1.1\r\nHost: x\r\n\r\n" + handshake())
        assert peer.response().body == b"ok"
        assert peer.head().status == 101


# Framing: sections 1 to 5 of the Autobahn suite


@pytest.mark.parametrize("opcode", [TEXT, BINARY])
@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 128, 65_535, 65_536, 300_000, 16 * 1024 * 1024])
def test_a_message_of_any_size_comes_back(socket: WebSocket, opcode: int, size: int) -> None:
    payload = (b"0123456789abcdef" * (size // 16 + 1))[:size]
    # One mask for all is quick to apply.
    socket.send(frame(opcode, payload, mask=b"\x00\x00\x00\x00") if size > 100_000 else frame(opcode, payload))
    assert socket.message() == (opcode, payload)


@pytest.mark.parametrize("size", [0, 1, 125])
def test_a_ping_is_answered_with_its_payload(socket: WebSocket, size: int) -> None:
    socket.send(frame(PING, b"\xfe" * size))
    assert socket.message() == (PONG, b"\xfe" * size)


def test_pings_are_answered_in_order_and_pongs_that_nobody_asked_for_are_not(socket: WebSocket) -> None:
    socket.send(b"".join(frame(PONG, b"unasked") + frame(PING, bytes([number])) for number in range(100)))
    assert [socket.message() for _ in range(100)] == [(PONG, bytes([number])) for number in range(100)]


FRAGMENTED = [
    [frame(TEXT, b"one ", fin=False), frame(CONTINUATION, b"two")],
    [frame(TEXT, b"", fin=False), frame(CONTINUATION, b"", fin=False), frame(CONTINUATION, b"one two")],
    [frame(TEXT, byte, fin=at == 6) if at == 0 else frame(CONTINUATION, byte, fin=at == 6)
     for at, byte in enumerate([b"o", b"n", b"e", b" ", b"t", b"w", b"o"])],
]


@pytest.mark.parametrize("fragments", FRAGMENTED, ids=["two", "empty ones", "a byte each"])
def test_fragments_make_one_message_and_control_frames_come_between(socket: WebSocket, fragments: list[bytes]) -> None:
    socket.send(b"".join(fragments))
    assert socket.message() == (TEXT, b"one two")
    socket.send(frame(PING, b"between").join(fragments))
    for _ in fragments[1:]:
        assert socket.message() == (PONG, b"between")
    assert socket.message() == (TEXT, b"one two")
    socket.peer.send_bytewise(b"".join(fragments))
    assert socket.message() == (TEXT, b"one two")


HELLO = frame(TEXT, b"hello")

# What breaks the protocol, what code it gets, and what of "hello" before it comes back.
BROKEN = {
    **{f"reserved bits {rsv}": (frame(TEXT, b"x", rsv=rsv), 1002) for rsv in range(1, 8)},
    **{f"reserved bits {rsv} of a ping": (frame(PING, b"x", rsv=rsv), 1002) for rsv in (1, 2, 4)},
    **{f"opcode {opcode}": (frame(opcode, b"x"), 1002) for opcode in [3, 4, 5, 6, 7, 11, 12, 13, 14, 15]},
    "no mask": (frame(TEXT, b"x", mask=None), 1002),
    "a ping without a mask": (frame(PING, mask=None), 1002),
    "a ping of 126 bytes": (frame(PING, b"x" * 126), 1002),
    "a fragmented ping": (frame(PING, b"x", fin=False), 1002),
    "a fragmented close": (frame(CLOSE, b"\x03\xe8", fin=False), 1002),
    "a close of 126 bytes": (close(1000, b"x" * 124), 1002),
    "a continuation of nothing": (frame(CONTINUATION, b"x"), 1002),
    "a continuation of nothing, with more to come": (frame(CONTINUATION, b"x", fin=False), 1002),
    "a message within a message": (frame(TEXT, b"x", fin=False) + frame(TEXT, b"y"), 1002),
    "a length that is not the shortest (16 bit)": (b"\x81\xfe\x00\x05" + b"\0" * 9, 1002),
    "a length that is not the shortest (64 bit)": (b"\x81\xff" + b"\0" * 7 + b"\x05" + b"\0" * 9, 1002),
    "a length with the highest bit": (b"\x82\xff\x80" + b"\0" * 11, 1002),
    "a length over the limit": (b"\x82\xff\x00\x00\x00\x00\x01\x00\x00\x01" + b"\0" * 4, 1009),
    "a length of 2 to the 63 less 1": (b"\x82\xff\x7f" + b"\xff" * 7 + b"\0" * 4, 1009),
    "fragments over the limit": (
        frame(BINARY, b"\0" * (16 * 1024 * 1024), fin=False, mask=b"\0\0\0\0") + frame(CONTINUATION, b"x"), 1009),
    "a compressed message that was not agreed on": (frame(TEXT, deflated(b"x"), rsv=4), 1002),
    # UTF-8
    "a byte that is none": (frame(TEXT, b"\xff"), 1007),
    "an overlong form": (frame(TEXT, b"\xc0\xaf"), 1007),
    "a surrogate": (frame(TEXT, b"\xed\xa0\x80"), 1007),
    "above the last code point": (frame(TEXT, b"\xf4\x90\x80\x80"), 1007),
    "a character cut off": (frame(TEXT, "ä".encode()[:1]), 1007),
    "a character cut off by the last fragment": (frame(TEXT, b"x", fin=False) + frame(CONTINUATION, b"\xe2\x82"), 1007),
    "a bad byte in the first of many fragments": (frame(TEXT, b"\xff", fin=False), 1007),
    "a bad byte in a frame that has not come whole": (frame(TEXT, b"\xff" + b"x" * 1_000)[:40], 1007),
    # Close frames
    "a close of one byte": (frame(CLOSE, b"\x03"), 1002),
    "a close whose reason is not UTF-8": (close(1000, b"\xff"), 1007),
    **{f"close code {code}": (close(code), 1002)
       for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535]},
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_breaks_the_protocol_is_told_with_a_code(arena: Server, name: str) -> None:
    data, code = BROKEN[name]
    for bytewise in [False, True] if len(data) < 200 else [False]:
        with WebSocket.open(arena) as socket:
            socket.send(HELLO)
            if bytewise:
                socket.peer.send_bytewise(data)
            else:
                socket.send(data)
            assert socket.end() == (code, [(TEXT, b"hello")])


@pytest.mark.parametrize(
    "text", ["κόσμε", "\u0000", "\u007f", "\u0080", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff"]
)
def test_utf_8_may_be_cut_anywhere(socket: WebSocket, text: str) -> None:
    payload = text.encode()
    socket.send(frame(TEXT, payload))
    assert socket.message() == (TEXT, payload)
    for cut in range(len(payload) + 1):
        socket.send(frame(TEXT, payload[:cut], fin=False) + frame(CONTINUATION, payload[cut:]))
        assert socket.message() == (TEXT, payload)


# Closing


@pytest.mark.parametrize("code", [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999])
def test_a_goodbye_is_answered_with_its_code(socket: WebSocket, code: int) -> None:
    socket.send(close(code, "äöü".encode()))
    assert socket.end() == (code, [])


def test_a_goodbye_without_a_code(socket: WebSocket) -> None:
    socket.send(close())
    assert socket.end() == (1005, [])


@pytest.mark.parametrize("behind", [HELLO, frame(PING), close(1001), b"\xff" * 100, b"x" * 200_000])
def test_nothing_behind_a_goodbye_is_heard(socket: WebSocket, behind: bytes) -> None:
    socket.send(HELLO + close(1000) + behind)
    assert socket.end() == (1000, [(TEXT, b"hello")])


def test_what_was_said_before_a_goodbye_is_answered_before_it(socket: WebSocket) -> None:
    messages = [b"%d" % number * 100 for number in range(500)]
    socket.send(b"".join(frame(BINARY, message) for message in messages) + close(1000))
    assert socket.end() == (1000, [(BINARY, message) for message in messages])


def test_a_client_that_vanishes_is_counted_out(start_arena) -> None:
    server: Server = start_arena()
    sockets = [WebSocket.open(server) for _ in range(20)]
    server.wait_for_figure("tayet_sessions_open", 20)
    for socket in sockets:
        socket.peer.close()
    server.wait_for_figure("tayet_sessions_open", 0)


def test_shutdown_says_goodbye_with_1001(start_arena) -> None:
    server: Server = start_arena()
    with WebSocket.open(server) as socket, WebSocket.open(server, "/ws/topic/x") as member:
        server.process.terminate()
        for one in (socket, member):
            received = one.receive()
            assert (received.opcode, received.payload[:2]) == (CLOSE, b"\x03\xe9")
            one.send(close(1001))
            assert one.receive() is None
        assert server.wait() == 0


def test_a_silent_client_is_pinged_and_then_cut(start_arena) -> None:
    server: Server = start_arena(ping_interval_ms=200, pong_timeout_ms=200)
    with WebSocket.open(server) as lively, WebSocket.open(server) as silent:
        for _ in range(5):
            opcode, payload = lively.message()
            assert opcode == PING
            lively.send(frame(PONG, payload))
        assert silent.message() == (PING, b"")
        assert silent.receive() is None
        lively.send(HELLO)
        while (received := lively.message())[0] == PING:
            pass
        assert received == (TEXT, b"hello")


def test_a_client_that_reads_nothing_is_not_read_from_and_is_cut_in_time(start_arena) -> None:
    server: Server = start_arena(write_stall_timeout_ms=500, max_send_queue_bytes=100_000)
    with WebSocket.open(server) as socket, pytest.raises(OSError):
        piece = frame(BINARY, b"x" * 60_000, mask=b"\0\0\0\0")
        while True:
            socket.send(piece)
    server.wait_for_figure("tayet_sessions_open", 0)
    assert server.memory_kib("VmHWM") < 100 * 1024


# permessage-deflate: sections 12 and 13


OFFERS = [
    "permessage-deflate",
    "permessage-deflate; server_no_context_takeover",
    "permessage-deflate; client_no_context_takeover",
    "permessage-deflate; server_max_window_bits=9",
    "permessage-deflate; server_max_window_bits=8",
    "permessage-deflate; client_max_window_bits",
    "permessage-deflate; client_max_window_bits=10",
    "permessage-deflate; server_max_window_bits=12; client_max_window_bits=12; server_no_context_takeover",
    "permessage-deflate; server_max_window_bits=7, permessage-deflate",
    "x-unknown; a=b, permessage-deflate",
]


@pytest.mark.parametrize("offer", OFFERS)
def test_messages_are_compressed_as_was_agreed(arena: Server, offer: str) -> None:
    with WebSocket.open(arena, sec_websocket_extensions=offer) as socket:
        answer = [part.strip() for part in socket.answer.get("sec-websocket-extensions").split(";")]
        assert answer[0] == EXTENSIONS
        bits = next((int(part.split("=")[1]) for part in answer if part.startswith("server_max_window_bits=")), 15)
        takes_over = "server_no_context_takeover" not in answer
        inflater = zlib.decompressobj(wbits=-max(bits, 9))
        for text in [b"short", b"long " * 10_000, b"", os.urandom(5_000).hex().encode(), b"long " * 10_000]:
            for sent in [frame(TEXT, deflated(text, 9), rsv=4), frame(TEXT, text, mask=b"\0\0\0\0")]:
                socket.send(sent)
                received = socket.receive()
                assert received.fin and received.opcode == TEXT
                payload = received.payload
                if received.rsv1:
                    inflater = inflater if takes_over else zlib.decompressobj(wbits=-max(bits, 9))
                    payload = inflater.decompress(received.payload + DEFLATE_TAIL)
                assert payload == text
                if text.startswith(b"long"):
                    assert received.rsv1 and len(received.payload) < 2_000, "worth compressing"
                if len(text) < 100:
                    assert not received.rsv1, "not worth compressing"


@pytest.mark.parametrize(
    "offer",
    [
        "permessage-deflate; server_max_window_bits=16",
        "permessage-deflate; server_max_window_bits",
        "permessage-deflate; client_max_window_bits=7",
        "permessage-deflate; unknown",
        "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
        "permessage-deflate; client_no_context_takeover=1",
        "permessage-bzip2",
    ],
)
def test_what_is_not_to_be_had_is_declined(arena: Server, offer: str) -> None:
    with WebSocket.open(arena, sec_websocket_extensions=offer) as socket:
        assert socket.answer.get("sec-websocket-extensions") is None
        socket.send(HELLO)
        assert socket.message() == (TEXT, b"hello")


@pytest.mark.parametrize(
    "name, data, code",
    [
        ("not deflate", frame(TEXT, b"\xff\xff\xff\xff", rsv=4), 1007),
        ("not UTF-8 once inflated", frame(TEXT, deflated(b"\xff"), rsv=4), 1007),
        ("the bit on a continuation", frame(TEXT, deflated(b"xy")[:1], rsv=4, fin=False) + frame(CONTINUATION, b"", rsv=4), 1002),
        ("the bit on a ping", frame(PING, b"", rsv=4), 1002),
        ("a bomb", frame(BINARY, deflated(b"\0" * (17 * 1024 * 1024)), rsv=4), 1009),
    ],
)
def test_bad_compression_is_told_with_a_code(arena: Server, name: str, data: bytes, code: int) -> None:
    with WebSocket.open(arena, sec_websocket_extensions=EXTENSIONS) as socket:
        socket.send(data)
        assert socket.end() == (code, []), name


def test_a_compressed_message_may_be_fragmented(arena: Server) -> None:
    payload = deflated(b"fragmente " * 100)
    with WebSocket.open(arena, sec_websocket_extensions=EXTENSIONS) as socket:
        for cut in range(len(payload) + 1):
            socket.send(frame(TEXT, payload[:cut], rsv=4, fin=False) + frame(PING) + frame(CONTINUATION, payload[cut:]))
            assert socket.message() == (PONG, b"")
            received = socket.receive()
            assert inflated(received.payload) == b"fragmente " * 100


def test_a_compression_bomb_costs_no_more_than_the_limit(start_arena) -> None:
    server: Server = start_arena()
    bomb = deflated(b"\0" * (1 << 30))
    for _ in range(3):
        with WebSocket.open(server, sec_websocket_extensions=EXTENSIONS) as socket:
            socket.send(frame(BINARY, bomb, rsv=4, mask=b"\0\0\0\0"))
            assert socket.end()[0] == 1009
    assert server.memory_kib("VmHWM") < 96 * 1024


# Topics and streams of events


def test_what_a_member_says_reaches_all_of_its_topic_and_no_other(arena: Server) -> None:
    members = [WebSocket.open(arena, "/ws/topic/one", sec_websocket_extensions=EXTENSIONS if at % 2 else "") for at in range(10)]
    with WebSocket.open(arena, "/ws/topic/two") as stranger:
        for number, member in enumerate(members):
            member.send(frame(BINARY, b"\0" * 1_000 + bytes([number])))
            for at, other in enumerate(members):
                received = other.receive()
                assert received.rsv1 == bool(at % 2)
                payload = inflated(received.payload) if received.rsv1 else received.payload
                assert payload == b"\0" * 1_000 + bytes([number])
        stranger.send(HELLO)
        assert stranger.message() == (TEXT, b"hello")
    for member in members:
        member.peer.close()


def test_events_of_a_topic_come_to_streams_as_well(start_arena) -> None:
    server: Server = start_arena()
    with server.connect() as stream, WebSocket.open(server, "/ws/topic/news") as speaker:
        stream.request("GET", "/events/news")
        head = stream.head()
        assert (head.status, head.get("content-type"), head.get("cache-control")) == (200, "text/event-stream", "no-store")
        pieces = stream.pieces(head)
        # The stream is there before it has joined: it is spoken to until it hears.
        while not stream.is_readable():
            speaker.send(frame(TEXT, b"first\nsecond"))
            assert speaker.message() == (TEXT, b"first\nsecond")
        event = next(pieces)
        assert event.startswith(b"id: ") and event.endswith(b"\ndata: first\ndata: second\n\n"), event


# A client that others wrote


@pytest.mark.parametrize("compression", [None, "deflate"])
@pytest.mark.parametrize("execution", ["task-pool", "thread-pool:4", "inline"])
def test_the_websockets_package_talks_to_it(start_arena, execution: str, compression: str | None) -> None:
    server: Server = start_arena("--execution", execution)
    with connect(f"ws://127.0.0.1:{server.port}/ws", compression=compression, max_size=1 << 25) as socket:
        for message in ["", "text", b"", b"bytes", "ä" * 100_000, os.urandom(2_000_000), ["in ", "frag", "ments"]]:
            socket.send(message)
            expected = "".join(message) if isinstance(message, list) else message
            assert socket.recv() == expected
        assert socket.ping(b"there?").wait(20)
        for number in range(1_000):
            socket.send(str(number))
        assert [socket.recv() for _ in range(1_000)] == [str(number) for number in range(1_000)]
    assert (socket.close_code, socket.close_reason) == (1000, "")
