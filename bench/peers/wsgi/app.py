"""What the WSGI servers serve, all the same."""

import os
import time

HELLO = b"Hello, World!"
TEN_KB = bytes(range(32, 127)) * 108
PIECE = TEN_KB[:4096]
PIECES = 256


def plain(environ, start_response):
    path = environ["PATH_INFO"]
    if path == "/":
        return whole(start_response, HELLO)
    if path == "/10k":
        return whole(start_response, TEN_KB[:10240])
    if path == "/echo":
        return whole(start_response, environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)))
    if path == "/sleep/10":
        time.sleep(0.01)
        return whole(start_response, b"ok")
    if path == "/stream":
        # With its length, since not every one of the servers can do without.
        start(start_response, PIECES * len(PIECE))
        return (PIECE for _ in range(PIECES))
    start_response("404 Not Found", [("Content-Length", "0")])
    return [b""]


def whole(start_response, body):
    start(start_response, len(body))
    return [body]


def start(start_response, length):
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(length))])


def flask():
    from flask import Flask

    made = Flask(__name__)
    made.add_url_rule("/", view_func=lambda: HELLO, endpoint="hello")
    return made


# By the environment: the one that is not served is not to be in memory.
application = flask() if os.environ.get("BENCH_APPLICATION") == "flask" else plain
