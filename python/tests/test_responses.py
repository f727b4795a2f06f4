"""start_response, the iterable and what is made of them."""

import io
import socket
import tempfile
import threading
import time

import pytest
from client import read_all

TEXT = [("Content-Type", "text/plain")]


def answering(*blocks, status="200 OK", headers=TEXT):
    def application(environ, start_response):
        start_response(status, list(headers))
        return list(blocks)

    return application


class Closable:
    """An iterable that counts how often it is closed."""

    def __init__(self, *blocks, fails_after=None):
        self.blocks = blocks
        self.fails_after = fails_after
        self.closed = 0
        self.is_closed = threading.Event()

    def __iter__(self):
        for index, block in enumerate(self.blocks):
            if index == self.fails_after:
                raise RuntimeError("amid the body")
            yield block

    def close(self):
        self.closed += 1
        self.is_closed.set()

    def __call__(self, environ, start_response):
        start_response("200 OK", list(TEXT))
        return self


def sent_in_two(client, received):
    """Whether an answer comes as two chunks, of which the second is sent once the first has been ``received``."""
    with client.connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        seen = b""
        while b"first" not in seen:
            seen += connection.recv(4096)
        received.set()
        seen += read_all(connection)
    return seen.endswith(b"6\r\nsecond\r\n0\r\n\r\n")


def test_a_list_is_sent_with_its_length(serve):
    answer = serve(answering(b"Hello, ", b"World!")).get()
    assert (answer.status, answer.body) == (200, b"Hello, World!")
    assert answer.headers["Content-Type"] == "text/plain"
    assert "Date" in answer.headers


def test_a_lists_length_is_found(serve_unvalidated):
    assert serve_unvalidated(answering(b"abc")).get().headers["Content-Length"] == "3"
    assert serve_unvalidated(answering()).get().headers["Content-Length"] == "0"


def test_a_generator_is_sent_in_chunks(serve):
    def application(environ, start_response):
        start_response("200 OK", list(TEXT))
        yield b"a"
        yield b""
        yield b"b" * 100_000

    answer = serve(application).get()
    assert answer.body == b"a" + b"b" * 100_000
    assert answer.headers["Transfer-Encoding"] == "chunked"


def test_a_generator_goes_to_http_1_0_until_the_end_of_the_connection(serve):
    raw = serve(Closable(b"a", b"b")).raw(b"GET / HTTP/1.0\r\n\r\n")
    assert raw.endswith(b"\r\n\r\nab")


def test_each_block_is_sent_before_the_next_is_asked_for(serve):
    received = threading.Event()

    def application(environ, start_response):
        start_response("200 OK", list(TEXT))
        yield b"first"
        assert received.wait(20), "the first block did not arrive"
        yield b"second"

    assert sent_in_two(serve(application), received)


def test_blocks_that_come_fast_do_not_wait_for_the_next_one_to_be_made(serve):
    received = threading.Event()

    def application(environ, start_response):
        start_response("200 OK", list(TEXT))
        yield from [b"some"] * 100
        yield b"first"
        assert received.wait(20), "the last of the fast blocks did not arrive"
        yield b"second"

    assert sent_in_two(serve(application), received)


@pytest.mark.parametrize("blocks", [(), (b"",), (b"a",), (b"a", b"b"), (b"", b"", b"c", b"")])
def test_close_is_called_exactly_once(serve_unvalidated, blocks):
    iterable = Closable(*blocks)
    assert serve_unvalidated(iterable).get().body == b"".join(blocks)
    assert iterable.is_closed.wait(20)
    assert iterable.closed == 1


def test_close_is_called_for_head(serve_unvalidated):
    iterable = Closable(b"a", b"b")
    assert serve_unvalidated(iterable).get(method="HEAD").body == b""
    assert iterable.is_closed.wait(20)
    assert iterable.closed == 1


def test_close_is_called_when_the_body_fails(serve_unvalidated, capfd):
    iterable = Closable(b"a", b"b", fails_after=1)
    raw = serve_unvalidated(iterable).raw(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    assert raw.endswith(b"1\r\na\r\n"), "no last chunk: the client can tell"
    assert iterable.is_closed.wait(20)
    assert iterable.closed == 1
    assert "RuntimeError: amid the body" in capfd.readouterr().err


def test_close_is_called_when_start_response_was_not(serve_unvalidated):
    iterable = Closable(b"a")
    assert serve_unvalidated(lambda environ, start_response: iterable).get().status == 500
    assert iterable.closed == 1


def test_a_client_that_goes_ends_the_iteration(serve_unvalidated):
    iterable = Closable(*[b"x" * 65536] * 100_000)
    with serve_unvalidated(iterable).connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        connection.recv(4096)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    assert iterable.is_closed.wait(20)
    assert iterable.closed == 1


def test_an_error_in_close_is_logged_and_harms_nobody(serve_unvalidated, capfd):
    class Failing(Closable):
        def close(self):
            super().close()
            raise RuntimeError("in close")

    iterable = Failing(b"a")
    assert serve_unvalidated(iterable).get().body == b"a"
    assert iterable.is_closed.wait(20)
    assert "RuntimeError: in close" in capfd.readouterr().err


def test_an_exception_is_a_500_with_its_traceback_in_the_log(serve, capfd):
    def application(environ, start_response):
        raise LookupError("before the head")

    client = serve(application)
    assert client.get().status == 500
    logged = capfd.readouterr().err
    assert "Traceback" in logged and "LookupError: before the head" in logged
    assert "before the head" not in client.get().text, "nothing of it is the client's business"


def test_start_response_may_be_called_when_the_first_block_is_asked_for(serve):
    def application(environ, start_response):
        yield from ()
        start_response("202 Accepted", list(TEXT))
        yield b"later"

    answer = serve(application).get()
    assert (answer.status, answer.body) == (202, b"later")


def test_a_start_response_that_is_kept_is_no_other_requests(serve_unvalidated):
    kept = []

    def application(environ, start_response):
        kept.append((start_response, start_response("200 OK", list(TEXT))))
        return [b"%d" % len(kept)]

    client = serve_unvalidated(application)
    assert [client.get().body for _ in range(3)] == [b"1", b"2", b"3"]
    assert len({start for start, _ in kept}) == len({write for _, write in kept}) == 3
    for start, write in kept:
        with pytest.raises(RuntimeError, match="second time"):
            start("200 OK", [])
        with pytest.raises(RuntimeError, match="write"):
            write(b"late")


def test_what_one_application_has_answered_is_not_the_nexts(serve_unvalidated):
    def application(environ, start_response):
        if environ["PATH_INFO"] == "/":
            start_response("404 Not Found", [("Content-Type", "text/html"), ("Content-Length", "1"), ("X-Other", "1")])
        return [b"x"]

    client = serve_unvalidated(application)
    assert [client.get(path).status for path in ("/", "/none", "/", "/none")] == [404, 500, 404, 500]


@pytest.mark.parametrize("value", ["text/plain; name=J\u00f6rg", "text/plain", "", "text/plain; name=J\u00f6rg"])
def test_a_content_type_is_sent_as_it_is(serve_unvalidated, value):
    headers = [("content-TYPE", value), ("X-Other", "1")]
    raw = serve_unvalidated(answering(b"x", headers=headers)).raw(b"GET / HTTP/1.0\r\n\r\n")
    assert b"\r\ncontent-type: " + value.encode("latin-1") + b"\r\n" in raw.replace(b"Content-Type", b"content-type")


@pytest.mark.parametrize("value", ["text/plain; name=\u4e00", "text/plain\r\nX-Evil: 1", "text/plain\x7f"])
def test_a_content_type_that_cannot_be_sent_is_refused(serve_unvalidated, value):
    assert serve_unvalidated(answering(b"x", headers=[("Content-Type", value)])).get().status == 500


def test_exc_info_takes_a_head_back_that_is_not_sent(serve):
    def application(environ, start_response):
        start_response("200 OK", list(TEXT))
        try:
            raise ValueError
        except ValueError as error:
            start_response("503 Busy", list(TEXT), (type(error), error, error.__traceback__))
        return [b"sorry"]

    answer = serve(application).get()
    assert (answer.status, answer.body) == (503, b"sorry")


def test_exc_info_raises_when_the_head_is_sent(serve, capfd):
    def application(environ, start_response):
        start_response("200 OK", list(TEXT))
        yield b"begun"
        try:
            raise ValueError("too late")
        except ValueError as error:
            start_response("500 Oops", list(TEXT), (type(error), error, error.__traceback__))
        yield b"never"

    raw = serve(application).raw(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    assert b"begun" in raw and b"never" not in raw and not raw.endswith(b"0\r\n\r\n")
    assert "ValueError: too late" in capfd.readouterr().err


def test_a_second_start_response_is_refused(serve_unvalidated, capfd):
    def application(environ, start_response):
        start_response("200 OK", [])
        start_response("200 OK", [])
        return []

    assert serve_unvalidated(application).get().status == 500
    assert "second time" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        ("OK", []),
        ("200OK", []),
        ("20", []),
        ("100 Continue", []),
        ("200 OK\r\nX: y", []),
        (200, []),
        ("200 OK", [("X-A", "b\r\nX-C: d")]),
        ("200 OK", [("X A", "b")]),
        ("200 OK", [("X-A", "\u20ac")]),
        ("200 OK", [("X-A", 1)]),
        ("200 OK", [["X-A", "b"]]),
        ("200 OK", (("X-A", "b"),)),
        ("200 OK", [("Content-Length", "x")]),
        ("200 OK", [("Content-Length", "1"), ("Content-Length", "2")]),
        ("200 OK", [("Connection", "close")]),
        ("200 OK", [("Transfer-Encoding", "chunked")]),
    ],
)
def test_a_wrong_head_is_refused_where_it_is_given(serve_unvalidated, status, headers):
    seen = []

    def application(environ, start_response):
        try:
            start_response(status, headers)
        except (TypeError, ValueError) as error:
            seen.append(error)
            raise
        return [b"x"]

    client = serve_unvalidated(application)
    assert client.get().status == 500
    assert len(seen) == 1


def test_fields_keep_their_values_and_repetitions(serve):
    headers = [*TEXT, ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("X-Name", "J\u00f6rg")]
    answer = serve(answering(b"x", headers=headers)).get()
    assert answer.headers.get_all("Set-Cookie") == ["a=1", "b=2"]
    assert answer.headers["X-Name"] == "J\u00f6rg"


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
def test_a_status_without_a_body_has_none(serve, status):
    with serve(answering(status=status, headers=[])).connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n" * 2)
        connection.shutdown(socket.SHUT_WR)
        raw = b"".join(iter(lambda: connection.recv(4096), b""))
    assert raw.count(b"HTTP/1.1 " + status[:3].encode()) == 2
    assert raw.endswith(b"\r\n\r\n")


@pytest.mark.parametrize("status", ["200 Fine", "404 NOT FOUND", "299 Of No Standard", "200 T\xe4yet", "200 OK"])
def test_the_reason_phrase_is_the_applications(serve, status):
    for headers in (TEXT, [*TEXT, ("X-Other", "1")]):
        client = serve(answering(b"x", status=status, headers=headers))
        raw = client.raw(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        assert raw.startswith(f"HTTP/1.1 {status}\r\n".encode("latin-1"))


def test_head_has_the_applications_length_and_no_body(serve):
    answer = serve(answering(headers=[*TEXT, ("Content-Length", "1234")])).get(method="HEAD")
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["Content-Length"] == "1234"


def test_a_body_longer_than_its_length_is_cut_to_it(serve_unvalidated):
    client = serve_unvalidated(answering(b"abcdef", headers=[("Content-Length", "3")]))
    raw = client.raw(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n" * 2)
    assert raw.count(b"\r\n\r\nabc") == 2
    assert b"def" not in raw


def test_a_body_shorter_than_its_length_ends_the_connection(serve_unvalidated):
    for application in (answering(b"abc", headers=[("Content-Length", "6")]), sized_closable(6, b"a", b"bc")):
        raw = serve_unvalidated(application).raw(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n" * 2)
        assert raw.count(b"HTTP/1.1 200") == 1


def sized_closable(length, *blocks):
    iterable = Closable(*blocks)

    def application(environ, start_response):
        start_response("200 OK", [("Content-Length", str(length))])
        return iterable

    return application


def test_a_sized_generator_stops_at_its_length(serve_unvalidated):
    answer = serve_unvalidated(sized_closable(4, b"ab", b"cd", b"ef")).get()
    assert answer.body == b"abcd"
    assert answer.headers["Content-Length"] == "4"


@pytest.mark.parametrize("body", ["text", [1], ["text"], None, 5])
def test_a_body_that_is_no_bytes_is_a_500(serve_unvalidated, body):
    def application(environ, start_response):
        start_response("200 OK", list(TEXT))
        return body

    assert serve_unvalidated(application).get().status == 500


# write()


def test_what_is_written_comes_before_what_is_returned(serve):
    def application(environ, start_response):
        write = start_response("200 OK", list(TEXT))
        write(b"one ")
        write(b"two ")
        return [b"three"]

    answer = serve(application).get()
    assert (answer.status, answer.body) == (200, b"one two three")


def test_what_is_written_is_sent_while_the_application_goes_on(serve):
    received = threading.Event()

    def application(environ, start_response):
        write = start_response("200 OK", list(TEXT))
        write(b"first")
        assert received.wait(20), "what was written did not arrive"
        write(b"second")
        return []

    assert sent_in_two(serve(application), received)


def test_much_that_is_written_waits_for_the_client(serve):
    written = []

    def application(environ, start_response):
        write = start_response("200 OK", list(TEXT))
        for _ in range(200):
            write(b"x" * 65536)
            written.append(65536)
        return []

    with serve(application).connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        before = -1
        while before != len(written) or not written:
            before = len(written)
            time.sleep(0.3)
        assert len(written) < 200, "everything was taken in without a reader"
        total = sum(len(part) for part in iter(lambda: connection.recv(65536), b""))
    assert total > 200 * 65536


def test_an_error_behind_write_cuts_the_connection(serve, capfd):
    def application(environ, start_response):
        write = start_response("200 OK", list(TEXT))
        write(b"begun")
        raise RuntimeError("behind write")

    raw = serve(application).raw(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    assert b"begun" in raw and not raw.endswith(b"0\r\n\r\n")
    assert "RuntimeError: behind write" in capfd.readouterr().err


def test_write_works_for_a_single_thread(serve):
    def application(environ, start_response):
        write = start_response("200 OK", list(TEXT))
        write(b"x" * 500_000)
        return [b"y"]

    assert serve(application, threads=1).get().body == b"x" * 500_000 + b"y"


# wsgi.file_wrapper


def wrapping(open_file, headers=TEXT):
    opened = []

    def application(environ, start_response):
        start_response("200 OK", list(headers))
        opened.append(open_file())
        return environ["wsgi.file_wrapper"](opened[-1], 1024)

    application.opened = opened
    return application


def test_a_file_is_sent_from_where_it_stands(serve):
    content = bytes(range(256)) * 1000

    def open_file():
        file = tempfile.TemporaryFile()
        file.write(content)
        file.seek(100)
        return file

    application = wrapping(open_file)
    answer = serve(application).get()
    assert answer.body == content[100:]
    assert application.opened[0].closed


def test_a_real_file_has_a_length(serve_unvalidated):
    def open_file():
        file = tempfile.TemporaryFile()
        file.write(b"abcdef")
        file.seek(2)
        return file

    client = serve_unvalidated(wrapping(open_file))
    assert client.get().headers["Content-Length"] == "4"
    assert client.get(method="HEAD").headers["Content-Length"] == "4"
    client = serve_unvalidated(wrapping(open_file, [("Content-Length", "3")]))
    assert client.get().body == b"cde"


def test_what_is_no_real_file_is_read(serve):
    application = wrapping(lambda: io.BytesIO(b"z" * 5000))
    assert serve(application).get().body == b"z" * 5000
    assert application.opened[0].closed
