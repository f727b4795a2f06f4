"""The port at which Prometheus reads the figures of all workers."""

import os
import re
import socket
import time

from tayet.relay import FIGURES_WANTED
from tayet.sockets import open_listener

# Readers at a time; others wait to be accepted.
MAX_READERS = 16
MAX_REQUEST_BYTES = 8 * 1024
# How long a reader has for its request, and for taking the answer.
READER_TIMEOUT_SECONDS = 10.0
# How long workers have for their figures; what comes later is left out.
WORKERS_TIMEOUT_SECONDS = 2.0

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
SAMPLE = re.compile(r"(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(?P<labels>.*)\})? (?P<value>.*)")


class MetricsPort:
    """Listens, asks the workers when it is asked, and answers. Nothing here waits."""

    def __init__(self, address, workers):
        """``workers()`` gives the serving workers' names with their lines."""
        listener, self._path = open_listener(address)
        self._listener = socket.socket(fileno=listener.detach())
        self._listener.setblocking(False)
        self._workers = workers
        self._readers = {}
        self._collections = []

    @property
    def url(self):
        address = self._listener.getsockname()
        if self._listener.family == socket.AF_UNIX:
            return f"unix:{address}"
        host = f"[{address[0]}]" if self._listener.family == socket.AF_INET6 else address[0]
        return f"http://{host}:{address[1]}/metrics"

    def readers(self):
        accepting = {self._listener: self._accept} if len(self._readers) < MAX_READERS else {}
        return accepting | {connection: self._read for connection, reader in self._readers.items() if not reader.answer}

    def writers(self):
        return {connection: self._write for connection, reader in self._readers.items() if reader.answer}

    def deadlines(self):
        """When :meth:`look` is to be called at the latest."""
        return [reader.deadline for reader in self._readers.values()] + [found.deadline for found in self._collections]

    def look(self):
        """Ends what has taken too long."""
        now = time.monotonic()
        for collection in [found for found in self._collections if found.deadline <= now]:
            self._finish(collection)
        for connection in [connection for connection, reader in self._readers.items() if reader.deadline <= now]:
            self._drop(connection)

    def figures_came(self, line, text):
        """A worker has answered."""
        for collection in list(self._collections):
            collection.came(line, text)
            if collection.is_complete:
                self._finish(collection)

    def close(self):
        self.forget_in_child()
        if self._path:
            try:
                os.unlink(self._path)
            except OSError:
                pass

    def forget_in_child(self):
        self._listener.close()
        for connection in self._readers:
            connection.close()

    def _accept(self, listener):
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        connection.setblocking(False)
        self._readers[connection] = Reader()

    def _read(self, connection):
        reader = self._readers[connection]
        try:
            received = connection.recv(MAX_REQUEST_BYTES)
        except BlockingIOError:
            return
        except OSError:
            received = b""
        reader.request += received
        if not received or len(reader.request) > MAX_REQUEST_BYTES:
            self._drop(connection)
        elif b"\r\n\r\n" in reader.request and not reader.has_asked:
            reader.has_asked = True
            self._ask(connection, reader)

    def _ask(self, connection, reader):
        target = reader.request.split(b" ", 2)[1:2]
        if target not in ([b"/metrics"], [b"/"]) or not reader.request.startswith(b"GET "):
            reader.answer = encode("404 Not Found", "text/plain", "The figures are at /metrics.\n")
            return
        workers = self._workers()
        collection = Collection(connection, workers)
        self._collections.append(collection)
        for line in workers.values():
            line.send(FIGURES_WANTED)
        if collection.is_complete:
            self._finish(collection)

    def _finish(self, collection):
        self._collections.remove(collection)
        reader = self._readers.get(collection.connection)
        if reader is not None:
            reader.answer = encode("200 OK", CONTENT_TYPE, merge(collection.texts, len(collection.workers)))

    def _write(self, connection):
        reader = self._readers[connection]
        try:
            count = connection.send(reader.answer)
        except BlockingIOError:
            return
        except OSError:
            count = len(reader.answer)
        reader.answer = reader.answer[count:]
        if not reader.answer:
            self._drop(connection)

    def _drop(self, connection):
        del self._readers[connection]
        connection.close()


class Reader:
    """Somebody who asks for figures."""

    def __init__(self):
        self.request = b""
        self.has_asked = False
        self.answer = b""
        self.deadline = time.monotonic() + READER_TIMEOUT_SECONDS


class Collection:
    """The figures for one reader, as they come in."""

    def __init__(self, connection, workers):
        self.connection = connection
        self.workers = workers
        self.texts = {}
        self.deadline = time.monotonic() + WORKERS_TIMEOUT_SECONDS

    @property
    def is_complete(self):
        return len(self.texts) == len(self.workers)

    def came(self, line, text):
        for name, known in self.workers.items():
            if known is line:
                self.texts[name] = text


def merge(texts, serving):
    """One text of several workers': each figure has the worker's name as a label."""
    families = {"tayet_workers": ["# HELP tayet_workers Workers that serve.", "# TYPE tayet_workers gauge", f"tayet_workers {serving}"]}
    for worker, text in sorted(texts.items()):
        for line in text.splitlines():
            if line.startswith("#"):
                if line == "# EOF":
                    continue
                family = families.setdefault(line.split(" ", 3)[2], [])
                if line not in family:
                    family.append(line)
            elif sample := SAMPLE.fullmatch(line):
                labels = f'worker="{worker}"' + (f",{sample['labels']}" if sample["labels"] else "")
                family.append(f"{sample['name']}{{{labels}}} {sample['value']}")
    lines = [line for family in families.values() for line in family]
    return "\n".join([*lines, "# EOF", ""])


def encode(status, content_type, text):
    body = text.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body
