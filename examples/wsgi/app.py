"""A WSGI application that shows what Tayet does with one: `tayet-wsgi app:app` in this directory."""

import html
import threading
import time

PAGE = """<!doctype html>
<title>Tayet and WSGI</title>
<h1>Tayet and WSGI</h1>
<ul>
<li><a href="/fast">fast</a> answers at once
<li><a href="/slow">slow</a> waits for a second, and nobody else does
<li><a href="/count">count</a> is an answer that is made while it is sent
<li><a href="/environ">environ</a> is what an application is asked
</ul>
"""


def fast(environ):
    return "text/plain", [b"fast\n"]


def slow(environ):
    time.sleep(1)
    return "text/plain", [f"slept on {threading.current_thread().name}\n".encode()]


def count(environ):
    def lines():
        for number in range(10):
            yield f"{number}\n".encode()
            time.sleep(0.3)

    return "text/plain", lines()


def show_environ(environ):
    lines = [f"{name} = {value!r}\n" for name, value in sorted(environ.items())]
    return "text/plain; charset=utf-8", ["".join(lines).encode()]


def index(environ):
    return "text/html", [PAGE.encode()]


ROUTES = {"/": index, "/fast": fast, "/slow": slow, "/count": count, "/environ": show_environ}


def app(environ, start_response):
    path = environ["PATH_INFO"]
    if path not in ROUTES:
        start_response("404 Not Found", [("Content-Type", "text/html")])
        return [f"There is nothing at {html.escape(path)}.\n".encode("latin-1")]
    content_type, body = ROUTES[path](environ)
    start_response("200 OK", [("Content-Type", content_type)])
    return body
