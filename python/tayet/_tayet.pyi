from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO

from _typeshed.wsgi import WSGIApplication

def start_log(filter: str) -> None:
    """Logs to the standard error from here on, what ``filter`` (``info``, ``tayet_engine=debug``) lets pass."""

class FileWrapper(Iterator[bytes]):
    """``wsgi.file_wrapper``: a file as an iterable of its blocks; a real file is sent without Python."""

    def __new__(cls, filelike: BinaryIO, block_size: int = 8192, /) -> FileWrapper: ...
    def __iter__(self) -> FileWrapper: ...
    def __next__(self) -> bytes: ...
    def close(self) -> None: ...

class Server:
    """A server of one application, on sockets that listen already. ``tayet.start`` makes one for an address."""

    def __new__(
        cls,
        application: WSGIApplication,
        descriptors: Sequence[int],
        settings: Iterable[tuple[str, str]],
        *,
        variables: Iterable[tuple[str, str]] = ...,
        script_name: str = "",
        multiprocess: bool = False,
        multithread: bool = True,
        timeout: float = 0.0,
        access_log: tuple[str, str] | None = None,
        supervisor: int | None = None,
        max_requests: int = 0,
        max_rss_bytes: int = 0,
        static_files: Iterable[tuple[str, str]] = ...,
    ) -> Server: ...
    def start(self) -> None:
        """Begins to serve, and returns."""

    def shutdown(self) -> None:
        """Begins to stop: accepts no more connections, and answers the requests under way. Returns at once."""

    def join(self) -> bool:
        """Waits for the end; ``False`` when threads are left that have not come back from the application."""

    def reopen_log(self) -> None:
        """Opens the access log's file anew."""

    @property
    def addresses(self) -> list[str]:
        """Where it listens, such as ``127.0.0.1:8000`` or ``unix:/run/app.sock``."""

    @property
    def loops(self) -> int:
        """How many event loops it has."""
