"""Serving from a program of one's own, without a supervising process."""

import atexit
import sys

from tayet._tayet import Server
from tayet.sockets import Listeners

# As type checkers know it. The module typing itself would stay in every process's memory.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


def start(application: "WSGIApplication", bind: "str | list[str]" = "127.0.0.1:8000", *, threads: int = 0, **settings: object) -> Server:
    """Begins to serve ``application`` and returns the running :class:`tayet.Server`.

    ``bind`` is an address, or a list of them: ``host:port``, ``unix:path``, ``fd://number``. With ``threads``, exactly so
    many run the application; without, Tayet finds out where it runs best. Other settings go by the names of Tayet's
    configuration files, such as ``head_timeout_ms=5000``.
    """
    listeners = Listeners([bind] if isinstance(bind, str) else bind, workers=1)
    try:
        descriptors = [listener.fileno() for listener in listeners.of_worker(0)]
        server = Server(application, descriptors, engine_settings(threads, settings))
        server.start()
        atexit.register(_stop, server)
        return server
    finally:
        # The server has duplicates. A Unix socket's file must outlive this.
        for listener in listeners.of_worker(0):
            listener.close()


def serve(application: "WSGIApplication", bind: "str | list[str]" = "127.0.0.1:8000", *, threads: int = 0, **settings: object) -> None:
    """Serves ``application`` until Ctrl-C, then answers what is under way and returns. Arguments as for :func:`start`."""
    import threading

    server = start(application, bind, threads=threads, **settings)
    waiter = threading.Thread(target=server.join, name="tayet-join", daemon=True)
    waiter.start()
    try:
        # Waiting for a thread, unlike waiting in the server, lets Python handle signals.
        waiter.join()
    except KeyboardInterrupt:
        server.shutdown()
        waiter.join()


def engine_settings(threads, settings):
    """What Tayet's engine is told: names and values, as text."""
    chosen = {"loops": default_loops()}
    if threads:
        chosen["execution"] = f"thread-pool:{threads}"
    chosen.update(settings)
    return [(name, _text(value)) for name, value in chosen.items() if value is not None]


def _stop(server):
    """Before the interpreter ends, for the server's threads would outlive it."""
    server.shutdown()
    server.join()


def default_loops():
    """One event loop where the GIL lets one thread at a time run Python; else as many as there are cores."""
    is_gil_enabled = getattr(sys, "_is_gil_enabled", lambda: True)
    return 1 if is_gil_enabled() else None


def _text(value):
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, (list, tuple)) else str(value)
