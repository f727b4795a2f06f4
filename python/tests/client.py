"""A client that sends exactly the bytes it is told."""

import contextlib
import http.client
import socket

TIMEOUT_SECONDS = 20


class Client:
    """Talks to one server."""

    def __init__(self, address):
        host, _, port = address.rpartition(":")
        self.address = (host, int(port))
        self.host = address

    def get(self, target="/", headers=None, method="GET", body=None, encode_chunked=False):
        """One request on a connection of its own; the whole answer."""
        with contextlib.closing(http.client.HTTPConnection(*self.address, timeout=TIMEOUT_SECONDS)) as connection:
            connection.request(method, target, body=body, headers=headers or {}, encode_chunked=encode_chunked)
            return Answer(connection.getresponse())

    def post(self, target="/", body=b"", headers=None, encode_chunked=False):
        return self.get(target, headers, "POST", body, encode_chunked)

    def connect(self):
        return socket.create_connection(self.address, timeout=TIMEOUT_SECONDS)

    def raw(self, request):
        """Sends bytes; everything that comes until the server closes."""
        with self.connect() as connection:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            return read_all(connection)


class Answer:
    """An answer that has come whole."""

    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def text(self):
        return self.body.decode()


def read_all(connection):
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)
