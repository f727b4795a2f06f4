"""Listening sockets, which the supervising process holds for its workers."""

import os
import stat

from tayet.errors import CommandError
from tayet.system import socket

# Connections that may wait to be accepted; the system's net.core.somaxconn may lower it.
LISTEN_BACKLOG = 4096
# The first descriptor that systemd passes (sd_listen_fds(3)).
FIRST_SYSTEMD_DESCRIPTOR = 3


class Listeners:
    """The sockets of all addresses.

    Each worker has its own socket for a TCP address (``SO_REUSEPORT``), among which the kernel spreads connections. This
    process keeps them open: what waits in a socket whose worker has died is its successor's.
    """

    def __init__(self, binds, workers):
        self._paths = []
        self._per_worker = [[] for _ in range(max(workers, 1))]
        inherited = systemd_sockets()
        for listener in inherited:
            self._share(listener)
        if not inherited:
            for bind in binds:
                self._open(bind)

    def of_worker(self, slot):
        """The sockets from which the worker of this slot accepts."""
        return self._per_worker[slot]

    def urls(self):
        """Where to reach the server."""
        return [_url(listener) for listener in self._per_worker[0]]

    def close(self):
        """Closes the sockets, and removes the files of Unix sockets."""
        for listener in {listener for listeners in self._per_worker for listener in listeners}:
            listener.close()
        for path, made in self._paths:
            try:
                found = os.lstat(path)
                if (found.st_dev, found.st_ino) == made:
                    os.unlink(path)
            except OSError:
                pass

    def _share(self, listener):
        for listeners in self._per_worker:
            listeners.append(listener)

    def _open(self, bind):
        kind, where = parse_bind(bind)
        try:
            if kind == "fd":
                self._share(socket.socket(fileno=where))
            elif kind == "unix":
                self._share(self._listen_unix(where))
            else:
                self._listen_tcp(*where)
        except OSError as error:
            raise CommandError(f"cannot listen on {bind}: {error.strerror or error}") from None

    def _listen_unix(self, path):
        listener = _listen_unix(path)
        made = os.lstat(path)
        self._paths.append((path, (made.st_dev, made.st_ino)))
        return listener

    def _listen_tcp(self, host, port):
        family, address = _resolve(host, port)
        if len(self._per_worker) == 1:
            self._share(_listen_tcp(family, address, reuse_port=False))
            return
        if port:
            # SO_REUSEPORT would let another server of the same user share the port without a word.
            _listen_tcp(family, address, reuse_port=False).close()
        for listeners in self._per_worker:
            listener = _listen_tcp(family, address, reuse_port=True)
            address = listener.getsockname()
            listeners.append(listener)


def open_listener(bind):
    """A listening socket for one address, and the path of a Unix socket's file, to be removed at the end."""
    kind, where = parse_bind(bind)
    try:
        if kind == "fd":
            return socket.socket(fileno=where), None
        if kind == "unix":
            return _listen_unix(where), where
        family, address = _resolve(*where)
        return _listen_tcp(family, address, reuse_port=False), None
    except OSError as error:
        raise CommandError(f"cannot listen on {bind}: {error.strerror or error}") from None


def parse_bind(text):
    """Reads ``host:port``, ``[::1]:port``, ``:port``, ``unix:path`` or ``fd://number``."""
    if text.startswith("unix:"):
        path = text.removeprefix("unix:").removeprefix("//")
        if path:
            return "unix", path
    elif text.startswith("fd:"):
        number = text.removeprefix("fd:").removeprefix("//")
        if number.isdigit():
            return "fd", int(number)
    else:
        host, colon, port = text.rpartition(":")
        if colon and port.isdigit() and int(port) < 65536:
            return "tcp", (host.removeprefix("[").removesuffix("]"), int(port))
    raise CommandError(f"{text!r} is no address to listen on: host:port, [ipv6]:port, unix:path or fd://number")


def systemd_sockets():
    """The sockets that systemd has passed, which then are the only ones (sd_listen_fds(3))."""
    if os.environ.get("LISTEN_PID") != str(os.getpid()):
        return []
    count = int(os.environ.get("LISTEN_FDS", "0"))
    for name in ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"):
        os.environ.pop(name, None)
    return [socket.socket(fileno=FIRST_SYSTEMD_DESCRIPTOR + index) for index in range(count)]


def _listen_unix(path):
    _remove_stale(path)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(LISTEN_BACKLOG)
    return listener


def _resolve(host, port):
    # As bytes it needs none of the tables for international names.
    host = host.encode() if host.isascii() else host
    family, _, _, _, address = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    return family, address


def _listen_tcp(family, address, *, reuse_port):
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if reuse_port:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        listener.bind(address)
        listener.listen(LISTEN_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def _remove_stale(path):
    """Removes a socket's file at which nobody listens; anything else stays, and binding will say so."""
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            return
    except FileNotFoundError:
        return
    probe = socket.socket(socket.AF_UNIX)
    try:
        probe.connect(path)
    except ConnectionRefusedError:
        os.unlink(path)
    finally:
        probe.close()


def _url(listener):
    address = listener.getsockname()
    if listener.family == socket.AF_UNIX:
        return f"unix:{os.fsdecode(address)}"
    host = f"[{address[0]}]" if listener.family == socket.AF_INET6 else address[0]
    return f"http://{host}:{address[1]}"
