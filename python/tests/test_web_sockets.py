"""environ["tayet.websocket"], in both styles."""

import contextlib
import os
import socket
import struct
import threading
import time

import pytest
import tayet
from client import TIMEOUT_SECONDS, Client
from process import until
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect as connect_websocket

HEAD = ("200 OK", [("Content-Type", "text/plain")])
# More than the two ends' socket buffers and the queues between them hold.
MUCH_BYTES = 64 * 1024 * 1024


def connect(client, path="/", **kwargs):
    return connect_websocket(f"ws://{client.host}{path}", open_timeout=TIMEOUT_SECONDS, close_timeout=TIMEOUT_SECONDS, **kwargs)


def closing(connection):
    """The code and the reason with which the server closes."""
    with pytest.raises(ConnectionClosed) as closed:
        connection.recv(TIMEOUT_SECONDS)
    received = closed.value.rcvd
    return (received.code, received.reason) if received else None


def hello(environ, start_response):
    start_response(*HEAD)
    return [b"hello"]


def echo(environ, start_response):
    """Receives one by one."""
    for message in accepted(environ):
        environ["tayet.websocket"].send(message)
    return []


def echo_back(environ, start_response):
    """Is called for each message."""
    environ["tayet.websocket"].accept(on_message=lambda ws, message: ws.send(message))
    return []


def accepted(environ, *args, **kwargs):
    ws = environ["tayet.websocket"]
    ws.accept(*args, **kwargs)
    return ws


class Raw:
    """A client that does as it is told and no more; it costs no thread."""

    def __init__(self, client, path="/"):
        self.connection = client.connect()
        fields = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="
        self.connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {client.host}\r\n{fields}\r\n\r\n".encode())
        self.file = self.connection.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        while self.file.readline() != b"\r\n":
            pass

    def send(self, text):
        self.connection.sendall(self.frame(text))

    @staticmethod
    def frame(text):
        data = text.encode()
        length = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + struct.pack(">H", len(data))
        return b"\x81" + length + bytes(4) + data

    def receive(self):
        opcode, length = self.file.read(2)
        if length == 126:
            (length,) = struct.unpack(">H", self.file.read(2))
        elif length == 127:
            (length,) = struct.unpack(">Q", self.file.read(8))
        data = self.file.read(length)
        return data.decode() if opcode == 0x81 else data

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def close(self):
        self.file.close()
        self.connection.close()


@contextlib.contextmanager
def served(application, **options):
    """A server with options that tayet.start does not have."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = tayet.Server(application, [listener.fileno()], [], **options)
    server.start()
    try:
        yield Client(server.addresses[0])
    finally:
        server.shutdown()
        assert server.join()


def count_threads():
    return len(os.listdir("/proc/self/task"))


# What is and what is not asked


def test_a_plain_request_has_no_websocket(serve):
    def application(environ, start_response):
        start_response(*HEAD)
        return [str("tayet.websocket" in environ).encode()]

    assert serve(application).get().body == b"False"


def test_an_application_may_answer_otherwise(serve):
    def application(environ, start_response):
        assert environ["REQUEST_METHOD"] == "GET" and environ["HTTP_UPGRADE"] == "websocket"
        start_response("401 Unauthorized", [("Content-Type", "text/plain")])
        return [b"who are you?"]

    with pytest.raises(InvalidStatus) as refused:
        connect(serve(application))
    assert (refused.value.response.status_code, refused.value.response.body) == (401, b"who are you?")


def test_an_application_that_fails_before_it_accepts_answers_500(serve_unvalidated, capfd):
    def application(environ, start_response):
        raise ValueError("as asked")

    with pytest.raises(InvalidStatus) as refused:
        connect(serve_unvalidated(application))
    assert refused.value.response.status_code == 500
    assert "ValueError: as asked" in capfd.readouterr().err


def test_an_application_may_write_in_place_of_accepting(serve_unvalidated):
    def application(environ, start_response):
        start_response("403 Forbidden", [("Content-Type", "text/plain")])(b"written")
        with pytest.raises(RuntimeError, match="another answer"):
            environ["tayet.websocket"].accept()
        return [b" and more"]

    with pytest.raises(InvalidStatus) as refused:
        connect(serve_unvalidated(application))
    assert (refused.value.response.status_code, refused.value.response.body) == (403, b"written and more")


def test_a_page_of_another_origin_is_refused_unless_the_application_lets_it_in(serve_unvalidated, capfd):
    def application(environ, start_response):
        origins = environ["QUERY_STRING"].split(",") if environ["QUERY_STRING"] else None
        accepted(environ, origins=origins).send("in")
        return []

    client = serve_unvalidated(application)
    with pytest.raises(InvalidStatus) as refused:
        connect(client, origin="https://evil.example")
    assert refused.value.response.status_code == 403
    for query, origin in [("", f"http://{client.host}"), ("*", "https://any.example"), ("https://a.example,https://b.example", "https://b.example")]:
        with connect(client, f"/?{query}", origin=origin) as connection:
            assert connection.recv(TIMEOUT_SECONDS) == "in"
    assert "Traceback" not in capfd.readouterr().err


def test_a_request_that_asks_wrongly_gets_its_answer_when_it_is_accepted(serve_unvalidated):
    errors = []

    def application(environ, start_response):
        try:
            accepted(environ)
        except tayet.WebSocketClosed as error:
            errors.append(str(error))
            raise
        return []

    client = serve_unvalidated(application)
    answer = client.get("/", {"Upgrade": "websocket", "Connection": "upgrade", "Sec-WebSocket-Version": "7", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="})
    assert (answer.status, answer.headers["sec-websocket-version"]) == (426, "13")
    assert errors == ["the request is refused with 426 Upgrade Required"]


# Receiving one by one


def test_messages_come_in_order_and_the_end_ends_the_loop(serve_unvalidated):
    ends = []

    def application(environ, start_response):
        ws = accepted(environ, ["v2", "v1"], headers=[("X-Room", "7")])
        assert (ws.subprotocol, ws.close_code) == ("v1", None)
        for message in ws:
            assert ws.send(message)
        ends.append((ws.close_code, ws.close_reason, ws.is_closed))
        return []

    client = serve_unvalidated(application)
    with connect(client, subprotocols=["v0", "v1"]) as connection:
        assert (connection.subprotocol, connection.response.headers["x-room"]) == ("v1", "7")
        messages = ["täyet", b"\x00\xff", "", "x" * 100_000, *map(str, range(200))]
        for message in messages:
            connection.send(message)
        assert [connection.recv(TIMEOUT_SECONDS) for _ in messages] == messages
        connection.close(4321, "enough")
    until(lambda: ends == [(4321, "enough", True)])


def test_receive_waits_for_a_time_and_tells_the_end(serve_unvalidated):
    results = []

    def application(environ, start_response):
        ws = accepted(environ)
        with pytest.raises(TimeoutError):
            ws.receive(timeout=0.01)
        ws.send("now")
        results.append(ws.receive(timeout=TIMEOUT_SECONDS))
        with pytest.raises(tayet.WebSocketClosed, match="closed with 1000: bye"):
            ws.receive()
        with pytest.raises(tayet.WebSocketClosed):
            ws.send("late")
        results.append("done")
        return []

    with connect(serve_unvalidated(application)) as connection:
        assert connection.recv(TIMEOUT_SECONDS) == "now"
        connection.send("here")
        connection.close(1000, "bye")
    until(lambda: results == ["here", "done"])


def test_the_end_of_the_call_is_the_end_of_the_socket(serve_unvalidated):
    def application(environ, start_response):
        ws = accepted(environ)
        if environ["PATH_INFO"] == "/own":
            ws.close(4000, "my own")
        return []

    client = serve_unvalidated(application)
    with connect(client) as connection:
        assert closing(connection) == (1000, "")
    with connect(client, "/own") as connection:
        assert closing(connection) == (4000, "my own")


def test_an_application_that_fails_closes_with_1011(serve_unvalidated, capfd):
    def application(environ, start_response):
        accepted(environ).receive()
        raise ValueError("as asked")

    with connect(serve_unvalidated(application)) as connection:
        connection.send("go")
        assert closing(connection) == (1011, "the application failed")
    assert "ValueError: as asked" in capfd.readouterr().err


def test_a_client_that_has_gone_ends_the_call_without_a_traceback(serve_unvalidated, capfd):
    ends = []

    def application(environ, start_response):
        ws = accepted(environ)
        try:
            ws.send("hello")
            while True:
                ws.receive()
        finally:
            ends.append(ws.close_code)

    client = serve_unvalidated(application)
    raw = Raw(client)
    assert raw.receive() == "hello"
    raw.reset()
    until(lambda: ends == [1006])
    raw = Raw(client)
    assert raw.receive() == "hello"
    raw.close()
    until(lambda: ends == [1006, 1006])
    assert "Traceback" not in capfd.readouterr().err


def test_an_application_that_takes_its_time_holds_its_client_back(serve_unvalidated):
    go_on = threading.Event()
    received = []

    def application(environ, start_response):
        ws = accepted(environ)
        assert go_on.wait(TIMEOUT_SECONDS)
        received.extend(int(message[:8]) for message in ws)
        return []

    raw = Raw(serve_unvalidated(application))
    raw.connection.settimeout(1)
    sent, count = 0, 0
    frame = b""
    with pytest.raises(TimeoutError):
        while sent < MUCH_BYTES:
            frame = Raw.frame(f"{count:08}".ljust(60_000))
            done = 0
            while done < len(frame):
                done += raw.connection.send(frame[done:])
            count, sent = count + 1, sent + len(frame)
    go_on.set()
    raw.connection.settimeout(TIMEOUT_SECONDS)
    raw.connection.sendall(frame[done:])
    raw.connection.sendall(b"\x88\x80" + bytes(4))
    until(lambda: received == list(range(count + 1)))
    raw.close()


def test_a_client_that_takes_nothing_meets_the_policy(serve_unvalidated):
    results = {}

    def application(environ, start_response):
        policy = environ["PATH_INFO"].strip("/")
        ws = accepted(environ, when_full=policy, max_send_queue_bytes=100_000)
        ws.receive()
        try:
            sent = [ws.send(b"x" * 50_000) for _ in range(MUCH_BYTES // 50_000)]
            results[policy] = "dropped" if False in sent else "sent"
        except tayet.WebSocketClosed:
            results[policy] = "closed"
        return []

    client = serve_unvalidated(application, write_stall_timeout_ms=1500)
    lazy = [Raw(client, f"/{policy}") for policy in ("drop", "close", "block")]
    for raw in lazy:
        raw.send("go")
    until(lambda: results == {"drop": "dropped", "close": "closed", "block": "closed"})
    for raw in lazy:
        raw.reset()


def test_one_that_waits_for_its_client_goes_on_when_there_is_room(serve_unvalidated):
    def application(environ, start_response):
        ws = accepted(environ, max_send_queue_bytes=100_000)
        for number in range(400):
            ws.send(f"{number:08}".ljust(50_000))
        return []

    raw = Raw(serve_unvalidated(application))
    assert [int(raw.receive()[:8]) for _ in range(400)] == list(range(400))
    raw.close()


def test_threads_send_on_one_socket(serve_unvalidated):
    def application(environ, start_response):
        ws = accepted(environ)
        senders = [threading.Thread(target=lambda mine=mine: [ws.send(f"{mine} {number}") for number in range(100)]) for mine in range(8)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        return []

    with connect(serve_unvalidated(application)) as connection:
        received = list(connection)
    for mine in range(8):
        assert [text for text in received if text.startswith(f"{mine} ")] == [f"{mine} {number}" for number in range(100)]


def test_what_is_too_large_closes_with_1009(serve_unvalidated):
    def application(environ, start_response):
        for _ in accepted(environ, max_message_bytes=1000):
            pass
        return []

    with connect(serve_unvalidated(application), compression=None) as connection:
        connection.send("x" * 1001)
        assert closing(connection)[0] == 1009


def test_mistakes_are_told_where_they_are_made(serve_unvalidated):
    told = []

    def application(environ, start_response):
        ws = environ["tayet.websocket"]
        for wrong in (
            lambda: ws.send("early"),
            lambda: ws.receive(),
            lambda: ws.accept(when_full="wait"),
            lambda: ws.accept(headers=[("Sec-WebSocket-Accept", "x")]),
            lambda: ws.accept(on_close=print),
            lambda: ws.accept(),
            lambda: ws.accept(),
            lambda: ws.send(7),
            lambda: ws.close(1005),
            lambda: ws.receive(timeout=-1),
            lambda: ws.subscribe(""),
        ):
            try:
                wrong()
                told.append(None)
            except Exception as error:
                told.append(type(error))
        return []

    with connect(serve_unvalidated(application)) as connection:
        assert closing(connection) == (1000, "")
    assert told == [RuntimeError, RuntimeError, ValueError, ValueError, TypeError, None, RuntimeError, TypeError, ValueError, ValueError, ValueError]


def test_a_generator_and_a_validated_application_may_have_sockets(serve):
    def application(environ, start_response):
        start_response(*HEAD)
        for message in accepted(environ):
            environ["tayet.websocket"].send(message)
        yield b"what comes behind a WebSocket is not sent"

    with connect(serve(application)) as connection:
        connection.send("hello")
        assert connection.recv(TIMEOUT_SECONDS) == "hello"


def test_flask_has_it_in_its_environ(serve_unvalidated):
    import flask

    application = flask.Flask(__name__)

    # Werkzeug has routes for WebSockets apart.
    @application.route("/echo/<name>", websocket=True)
    def view(name):
        for message in accepted(flask.request.environ):
            flask.request.environ["tayet.websocket"].send(f"{name}: {message}")
        return ""

    with connect(serve_unvalidated(application), "/echo/ada") as connection:
        connection.send("hello")
        assert connection.recv(TIMEOUT_SECONDS) == "ada: hello"
        connection.close()


# Being called


def test_functions_are_called_in_order_and_told_the_end_once(serve_unvalidated):
    ends = []

    def application(environ, start_response):
        accepted(environ, on_message=lambda ws, message: ws.send(message), on_close=lambda ws, *end: ends.append((*end, ws.close_code)))
        return []

    with connect(serve_unvalidated(application)) as connection:
        messages = [*map(str, range(300)), b"\x00"]
        for message in messages:
            connection.send(message)
        assert [connection.recv(TIMEOUT_SECONDS) for _ in messages] == messages
        connection.close(4001, "bye")
    until(lambda: ends == [(4001, "bye", 4001)])


def test_a_function_that_fails_closes_with_1011(serve_unvalidated, capfd):
    ends = []

    def on_message(ws, message):
        raise ValueError("as asked")

    def application(environ, start_response):
        accepted(environ, on_message=on_message, on_close=lambda ws, code, reason: ends.append(code))
        return []

    with connect(serve_unvalidated(application)) as connection:
        connection.send("go")
        assert closing(connection) == (1011, "the application failed")
    until(lambda: len(ends) == 1)
    assert "ValueError: as asked" in capfd.readouterr().err


def test_a_call_that_fails_behind_accept_closes_its_socket(serve_unvalidated, capfd):
    def application(environ, start_response):
        accepted(environ, on_message=print)
        raise ValueError("as asked")

    with connect(serve_unvalidated(application)) as connection:
        assert closing(connection) == (1011, "the application failed")
    assert "ValueError: as asked" in capfd.readouterr().err


def test_messages_are_not_to_be_received_where_functions_are_called(serve_unvalidated):
    errors = []

    def application(environ, start_response):
        with pytest.raises(RuntimeError, match="on_message") as error:
            accepted(environ, on_message=lambda ws, message: ws.close()).receive()
        errors.append(error)
        return []

    with connect(serve_unvalidated(application)) as connection:
        connection.send("go")
        assert closing(connection) == (1000, "")
    assert len(errors) == 1


def test_sockets_with_functions_cost_no_threads_and_leave_nothing(serve_unvalidated):
    import gc
    import weakref

    sockets = []

    class Room:
        """Refers to its socket, and is referred to by it."""

        def __init__(self, ws):
            self.ws = ws
            sockets.append(weakref.ref(self))
            ws.accept(on_message=self.on_message)

        def on_message(self, ws, message):
            self.ws.send(message)

    def application(environ, start_response):
        Room(environ["tayet.websocket"])
        return []

    client = serve_unvalidated(application)
    raws = [Raw(client) for _ in range(300)]
    for number, raw in enumerate(raws):
        raw.send(str(number))
    assert [raw.receive() for raw in raws] == [str(number) for number in range(300)]
    assert count_threads() < 100
    for raw in raws:
        raw.close()
    until(lambda: gc.collect() is not None and not any(reference() for reference in sockets))


# Many, and the end


def test_sockets_that_wait_hold_up_nobody(serve_unvalidated):
    def application(environ, start_response):
        if "tayet.websocket" in environ:
            return echo(environ, start_response)
        return hello(environ, start_response)

    client = serve_unvalidated(application, threads=2)
    raws = [Raw(client) for _ in range(60)]
    assert client.get().body == b"hello"
    for number, raw in enumerate(raws):
        raw.send(str(number))
    assert [raw.receive() for raw in raws] == [str(number) for number in range(60)]
    for raw in raws:
        raw.close()


def test_there_are_no_more_threads_for_sockets_than_may_be():
    def application(environ, start_response):
        return (echo if environ["PATH_INFO"] == "/echo" else echo_back)(environ, start_response)

    with served(application, websocket_threads=2) as client:
        raws = [Raw(client, "/echo") for _ in range(2)]
        assert [raw.status for raw in raws] == [101, 101]
        assert Raw(client, "/echo").status == 503
        raws.pop().reset()
        until(lambda: (raw := Raw(client, "/back")).status == 101)


def test_a_socket_outlives_the_time_of_a_request():
    def application(environ, start_response):
        ws = accepted(environ)
        time.sleep(1)
        ws.send(ws.receive())
        return []

    with served(application, timeout=0.4) as client, connect(client) as connection:
        connection.send("still here")
        assert connection.recv(TIMEOUT_SECONDS) == "still here"


@pytest.mark.parametrize("application", [echo, echo_back])
def test_a_server_that_stops_says_1001(application):
    server = tayet.start(application, "127.0.0.1:0")
    connections = [connect(Client(server.addresses[0])) for _ in range(5)]
    server.shutdown()
    for connection in connections:
        assert closing(connection) == (1001, "the server is shutting down")
    assert server.join()


def test_a_server_that_stops_waits_for_calls_that_tidy_up():
    tidied = []

    def application(environ, start_response):
        for _ in accepted(environ):
            pass
        time.sleep(1.5)
        tidied.append(True)
        return []

    server = tayet.start(application, "127.0.0.1:0")
    connection = connect(Client(server.addresses[0]))
    server.shutdown()
    assert closing(connection)[0] == 1001
    assert server.join() and tidied == [True]


# Topics


@pytest.mark.parametrize("in_style", [echo, echo_back])
def test_what_is_published_reaches_who_subscribed(serve_unvalidated, in_style):
    def application(environ, start_response):
        if "tayet.websocket" not in environ:
            start_response(*HEAD)
            return [str(tayet.publish("room", environ["QUERY_STRING"])).encode()]
        ws = environ["tayet.websocket"]
        if in_style is echo:
            ws.accept()
            on_message(ws, None)
            for message in ws:
                on_message(ws, message)
        else:
            ws.accept(on_message=on_message)
            on_message(ws, None)
        return []

    def on_message(ws, message):
        if message == "leave":
            assert ws.unsubscribe("room") and not ws.unsubscribe("room")
        else:
            ws.subscribe("room")
        ws.send(",".join(ws.subscriptions))

    client = serve_unvalidated(application)
    with connect(client) as first, connect(client) as second:
        assert first.recv(TIMEOUT_SECONDS) == second.recv(TIMEOUT_SECONDS) == "room"
        assert (tayet.topics.members("room"), tayet.topics.names()) == (2, ["room"])
        assert client.get("/?news").body == b"2"
        assert first.recv(TIMEOUT_SECONDS) == second.recv(TIMEOUT_SECONDS) == "news"
        second.send("leave")
        assert second.recv(TIMEOUT_SECONDS) == ""
        assert tayet.publish("room", b"bytes") == 1
        assert first.recv(TIMEOUT_SECONDS) == b"bytes"
    until(lambda: tayet.topics.members("room") == 0 and tayet.topics.names() == [])


def test_publishing_to_nobody_is_nothing_and_mistakes_are_told():
    assert tayet.publish("nobody", "here") == 0
    with pytest.raises(TypeError):
        tayet.publish("room", 7)
    with served(hello), pytest.raises(ValueError, match="1 to 256 bytes"):
        tayet.publish("", "x")
