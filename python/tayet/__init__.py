"""Tayet serves WSGI applications (PEP 3333): as fast as C, and as patient as threads.

The command is what most people use::

    tayet-wsgi module:app

From a program, :func:`serve` does the same in its own process::

    import tayet

    def app(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"Hello, World!"]

    tayet.serve(app, bind="127.0.0.1:8000")
"""

from tayet._tayet import FileWrapper, Server, Topics, WebSocket, WebSocketClosed
from tayet.embedded import serve, start

topics = Topics()
publish = topics.publish

__all__ = ["FileWrapper", "Server", "Topics", "WebSocket", "WebSocketClosed", "publish", "serve", "start", "topics"]
