"""wsgi.input."""

import io
import threading

import pytest

SMALL = b"one\ntwo\n\nfour"
LARGE = b"".join(b"line %d\n" % number for number in range(50_000))


def reading(read):
    """An application that answers what ``read`` makes of its input."""

    def application(environ, start_response):
        body = repr(read(environ["wsgi.input"])).encode()
        start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
        return [body]

    return application


def send(client, body, chunked):
    if chunked:
        blocks = [body[start : start + 1000] for start in range(0, len(body), 1000)]
        answer = client.post(body=iter(blocks), headers={"Transfer-Encoding": "chunked"}, encode_chunked=True)
    else:
        answer = client.post(body=body)
    assert answer.status == 200
    return eval(answer.text)


@pytest.mark.parametrize("chunked", [False, True], ids=["sized", "chunked"])
@pytest.mark.parametrize("body", [b"", SMALL, LARGE], ids=["empty", "small", "large"])
class TestAsAFile:
    """Whatever ``io.BytesIO`` does with the same bytes."""

    @pytest.mark.parametrize(
        "read",
        [
            lambda file: file.read(),
            lambda file: file.read(-1),
            lambda file: (file.read(5), file.read(0), file.read(3), file.read(10_000_000), file.read(1)),
            lambda file: file.readline(),
            lambda file: (file.readline(2), file.readline(100), file.readline()),
            lambda file: file.readlines(),
            lambda file: (file.readlines(10), file.read(7)),
            lambda file: list(file),
            lambda file: (next(file, None), file.read(3), file.readline()),
        ],
    )
    def test_it_reads(self, serve_unvalidated, read, body, chunked):
        assert send(serve_unvalidated(reading(read)), body, chunked) == read(io.BytesIO(body))


def test_the_validator_has_no_complaint(serve):
    read = lambda file: (file.read(4), file.readline(), file.readlines(), file.read(1))  # noqa: E731
    assert send(serve(reading(read)), LARGE, False) == read(io.BytesIO(LARGE))


def test_a_body_is_read_while_it_arrives(serve):
    begun = threading.Event()

    def application(environ, start_response):
        first = environ["wsgi.input"].read(5)
        begun.set()
        rest = environ["wsgi.input"].read(1_000_000)
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [first, b"|", str(len(rest)).encode()]

    with serve(application).connect() as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 300005\r\nConnection: close\r\n\r\nfirst")
        assert begun.wait(20), "the application had to wait for the whole body"
        connection.sendall(b"x" * 300_000)
        raw = b"".join(iter(lambda: connection.recv(4096), b""))
    assert b"first" in raw and b"300000" in raw


def test_what_is_not_read_holds_the_client_back(serve_unvalidated):
    go_on = threading.Event()

    def application(environ, start_response):
        assert go_on.wait(20)
        start_response("200 OK", [("Content-Type", "text/plain")])
        total = 0
        while block := environ["wsgi.input"].read(65536):
            total += len(block)
        return [str(total).encode()]

    length = 64 * 1024 * 1024
    with serve_unvalidated(application).connect() as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % length)
        connection.settimeout(0.5)
        sent = 0
        block = b"x" * 65536
        try:
            while sent < length:
                sent += connection.send(block[: length - sent])
        except TimeoutError:
            pass
        assert sent < length, "the whole body was taken in without a reader"
        go_on.set()
        connection.settimeout(20)
        while sent < length:
            sent += connection.send(block[: length - sent])
        raw = b"".join(iter(lambda: connection.recv(4096), b""))
    assert raw.endswith(b"%d\r\n0\r\n\r\n" % length) or raw.endswith(b"\r\n\r\n%d" % length)


def test_a_body_that_is_not_read_does_not_harm_the_answer(serve):
    answering = reading(lambda file: "unread")
    assert send(serve(answering), SMALL, False) == "unread"


def test_a_client_that_goes_amid_its_body_is_an_error(serve_unvalidated):
    seen = []
    done = threading.Event()

    def application(environ, start_response):
        try:
            environ["wsgi.input"].read()
        except OSError as error:
            seen.append(type(error))
            raise
        finally:
            done.set()

    with serve_unvalidated(application).connect() as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 300000\r\n\r\nfirst")
    assert done.wait(20)
    assert seen == [ConnectionAbortedError]


def test_a_body_over_the_limit_is_a_413(serve_unvalidated, capfd):
    client = serve_unvalidated(reading(lambda file: len(file.read())), max_stream_bytes=100_000)
    blocks = (b"x" * 1000 for _ in range(101))
    answer = client.post(body=blocks, headers={"Transfer-Encoding": "chunked"}, encode_chunked=True)
    assert answer.status == 413
    assert "Traceback" not in capfd.readouterr().err


def test_a_client_that_waits_for_a_100_gets_it_when_the_body_is_read(serve):
    with serve(reading(lambda file: file.read(5))).connect() as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n")
        assert connection.recv(4096) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"hello")
        raw = b"".join(iter(lambda: connection.recv(4096), b""))
    assert raw.endswith(b"b'hello'")
