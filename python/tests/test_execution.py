"""Where the application runs: on a loop, on a thread that takes over, on a pool."""

import contextlib
import re
import threading
import time

import pytest
from client import Client
from process import until

HEAD = ("200 OK", [("Content-Type", "text/plain")])

APP = """
import time

is_loaded = False

def app(environ, start_response):
    global is_loaded
    if not is_loaded and environ["PATH_INFO"] == "/":
        time.sleep(0.1)
        is_loaded = True
    # In one step of the interpreter, which nothing interrupts.
    sum(range(20_000_000 if environ["PATH_INFO"] == "/hold" else 5000))
    start_response("200 OK", [("Content-Length", "4")])
    return [b"done"]
"""


def test_one_that_waits_does_not_hold_up_others(serve_unvalidated):
    go_on = threading.Event()

    def application(environ, start_response):
        if environ["PATH_INFO"] == "/wait":
            assert go_on.wait(30)
        start_response(*HEAD)
        return [b"done"]

    client = serve_unvalidated(application)
    connections = [client.connect() for _ in range(20)]
    for connection in connections:
        connection.sendall(b"GET /wait HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    assert client.get("/").body == b"done"
    go_on.set()
    for connection in connections:
        assert b"".join(iter(lambda: connection.recv(4096), b"")).endswith(b"done")
        connection.close()


def test_one_that_computes_with_the_gil_does_not_hold_up_others(serve_unvalidated):
    stop = threading.Event()

    def application(environ, start_response):
        if environ["PATH_INFO"] == "/compute":
            while not stop.is_set():
                sum(range(1000))
        start_response(*HEAD)
        return [b"done"]

    client = serve_unvalidated(application)
    with client.connect() as connection:
        connection.sendall(b"GET /compute HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        for _ in range(5):
            assert client.get("/").body == b"done"
        stop.set()
        assert b"".join(iter(lambda: connection.recv(4096), b"")).endswith(b"done")


@pytest.fixture
def one_with_metrics(serving):
    """One worker, a client of its, and what finds a figure's largest value."""
    running = serving("--metrics", "127.0.0.1:0", "--workers", "1")
    metrics = Client(running.wait_for(r"figures are at http://(\S+)/metrics"))

    def largest(name):
        return max(map(int, re.findall(rf"^{name}{{[^}}]*}} (\d+)$", metrics.get("/metrics").text, re.MULTILINE)))

    return running.client(), largest


def test_a_slow_first_call_is_forgotten_under_load(one_with_metrics):
    client, largest = one_with_metrics
    assert client.get("/other").body == b"done"
    assert largest("tayet_route_dispatched") == 0
    with asking_all_the_time(client, connections=32):
        until(lambda: largest("tayet_route_dispatched") == 1)
        until(lambda: largest("tayet_route_dispatched") == 0)


def test_where_one_has_the_gil_few_threads_wait_for_it(one_with_metrics):
    client, largest = one_with_metrics
    request = b"GET %s HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(client.connect()) for _ in range(100)]
        for number, connection in enumerate(connections):
            connection.sendall(request % (b"/other" if number else b"/hold"))
        for connection in connections:
            assert b"".join(iter(lambda: connection.recv(4096), b"")).endswith(b"done")
    assert largest("tayet_threads") < 50


@contextlib.contextmanager
def asking_all_the_time(client, connections):
    """On each connection some requests are always on their way."""
    is_over = threading.Event()
    request = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"

    def ask(connection):
        connection.sendall(8 * request)
        while not is_over.is_set():
            answered = connection.recv(65536).count(b"done")
            connection.sendall(answered * request)

    with contextlib.ExitStack() as stack:
        for _ in range(connections):
            connection = stack.enter_context(client.connect())
            asker = threading.Thread(target=ask, args=(connection,))
            asker.start()
            stack.callback(asker.join)
        stack.callback(is_over.set)
        yield


def test_a_fixed_pool_has_exactly_its_threads(serve_unvalidated):
    seen = set()
    barrier = threading.Barrier(3, timeout=20)

    def application(environ, start_response):
        seen.add(threading.get_ident())
        barrier.wait()
        start_response(*HEAD)
        return [b"done"]

    client = serve_unvalidated(application, threads=3)
    for _ in range(4):
        connections = [client.connect() for _ in range(3)]
        for connection in connections:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        for connection in connections:
            assert b"".join(iter(lambda: connection.recv(4096), b"")).endswith(b"done")
            connection.close()
    assert len(seen) == 3


def test_a_thread_keeps_what_is_its_own(serve_unvalidated):
    local = threading.local()

    def application(environ, start_response):
        local.count = getattr(local, "count", 0) + 1
        start_response(*HEAD)
        return [str(local.count).encode()]

    client = serve_unvalidated(application, threads=1)
    assert [client.get().body for _ in range(3)] == [b"1", b"2", b"3"]


def test_dripping_clients_take_no_threads(serve_unvalidated):
    def application(environ, start_response):
        body = environ["wsgi.input"].read()
        start_response(*HEAD)
        return [str(len(body)).encode()]

    client = serve_unvalidated(application, threads=4)
    drippers = [client.connect() for _ in range(100)]
    for number, dripper in enumerate(drippers):
        half = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Le"
        dripper.sendall(half if number % 2 else half + b"ngth: 1000\r\n\r\nabc")
    assert client.post(body=b"12345").body == b"5"
    for dripper in drippers:
        dripper.close()


def test_clients_that_take_nothing_hold_up_their_own_answers_only(serve_unvalidated):
    def application(environ, start_response):
        start_response(*HEAD)
        return iter([b"x" * 65536] * 1000) if environ["PATH_INFO"] == "/much" else [b"done"]

    client = serve_unvalidated(application)
    lazy = [client.connect() for _ in range(30)]
    for connection in lazy:
        connection.sendall(b"GET /much HTTP/1.1\r\nHost: h\r\n\r\n")
    assert client.get("/").body == b"done"
    for connection in lazy:
        connection.close()


def test_a_request_past_its_time_is_answered_for_the_application():
    import socket

    from client import Client
    from tayet import Server

    go_on = threading.Event()

    def application(environ, start_response):
        if environ["PATH_INFO"] == "/wait":
            go_on.wait(20)
        start_response(*HEAD)
        return [b"done"]

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server(application, [listener.fileno()], [], timeout=1.5)
    server.start()
    client = Client(server.addresses[0])
    assert client.get("/wait").status == 503
    assert client.get("/").status == 200
    go_on.set()
    server.shutdown()
    assert server.join()


@pytest.mark.parametrize("threads", [0, 4])
def test_many_requests_at_once_each_get_their_own_answer(serve, threads):
    def application(environ, start_response):
        if int(environ["QUERY_STRING"]) % 7 == 0:
            time.sleep(0.001)
        start_response(*HEAD)
        return [environ["QUERY_STRING"].encode()]

    client = serve(application, threads=threads)
    wrong = []

    def ask(first):
        with client.connect() as connection:
            file = connection.makefile("rb")
            for number in range(first, first + 50):
                connection.sendall(b"GET /?%d HTTP/1.1\r\nHost: h\r\n\r\n" % number)
                length = 0
                while (line := file.readline()) != b"\r\n":
                    name, _, value = line.partition(b":")
                    if name.lower() == b"content-length":
                        length = int(value)
                body = file.read(length) if length else read_chunked(file)
                if body != b"%d" % number:
                    wrong.append((number, body))

    askers = [threading.Thread(target=ask, args=(first,)) for first in range(0, 1000, 50)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert wrong == []


def read_chunked(file):
    body = b""
    while size := int(file.readline(), 16):
        body += file.read(size)
        file.readline()
    file.readline()
    return body
