from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import BinaryIO, Literal

from _typeshed.wsgi import WSGIApplication

def give_back_memory() -> None:
    """Gives the system back what loading needed and serving does not: free memory, and pages of programs."""

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
        relay: int | None = None,
        websocket_threads: int = 512,
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

class WebSocketClosed(ConnectionError):
    """The other end of a WebSocket is no longer there, or never was."""

class WebSocket(Iterator[str | bytes]):
    """``environ["tayet.websocket"]``: a request for a WebSocket, and the socket once it is accepted.

    Everything may be called from any thread. What waits waits without the GIL.
    """

    def accept(
        self,
        subprotocols: str | Sequence[str] | None = None,
        *,
        headers: Iterable[tuple[str, str]] | None = None,
        origins: str | Sequence[str] | None = None,
        compression: bool = True,
        max_message_bytes: int | None = None,
        max_send_queue_bytes: int | None = None,
        ping_interval: float | None = None,
        when_full: Literal["block", "close", "drop"] | None = None,
        on_message: Callable[[WebSocket, str | bytes], object] | None = None,
        on_close: Callable[[WebSocket, int, str], object] | None = None,
    ) -> None:
        """Opens the socket, and returns once it is open.

        Without ``on_message``, the application receives message by message (:meth:`receive`, or iteration) on a thread that
        it has until it returns, which closes the socket. With it, the application returns at once, the socket stays open
        and costs no thread: ``on_message(ws, message)`` is called for each message and ``on_close(ws, code, reason)`` at the
        end, in order and never two at once for one socket.

        ``subprotocols`` are what the application speaks, the preferred first. ``headers`` go with the answer. ``origins``
        are those whose pages may open a socket, such as ``https://example.org``, or ``*``; without, only those of the host
        that is asked; others are answered 403. The limits are the engine's where they are not given: messages of 1 MiB
        (past it 1009), 1 MiB that waits to be sent, a ping after 30 seconds of silence (0: none).

        ``when_full`` says what becomes of a message for which the send queue has no room: ``block`` waits for the client (30
        seconds, then the socket is closed), ``close`` closes, ``drop`` drops it. The first is usual without ``on_message``,
        the second with it.

        Raises :class:`WebSocketClosed` when the client has gone, or is refused: the server has its answer then, and the
        application may let the exception pass.
        """

    def receive(self, timeout: float | None = None) -> str | bytes:
        """The next message; waits for it, ``timeout`` seconds at most if that is given (``TimeoutError``).

        Raises :class:`WebSocketClosed` when the socket is closed and all that came before has been received.
        """

    def __iter__(self) -> WebSocket: ...
    def __next__(self) -> str | bytes:
        """The next message; iteration ends when the socket is closed, however that came."""

    def send(self, message: str | bytes | bytearray) -> bool:
        """Sends a message: a text, or bytes. ``False`` when it was dropped since the queue was full.

        Raises :class:`WebSocketClosed` when the socket is closed.
        """

    def close(self, code: int = 1000, reason: str = "") -> None:
        """Says goodbye, behind what waits to be sent. Nothing happens if that was said before."""

    def subscribe(self, topic: str) -> None:
        """Joins a topic: what is published to it is sent to this socket."""

    def unsubscribe(self, topic: str) -> bool:
        """Leaves a topic; ``False`` if it was not in it. A socket that closes leaves all of its topics."""

    @property
    def subscriptions(self) -> list[str]:
        """The topics that it is in."""

    @property
    def subprotocol(self) -> str | None:
        """The subprotocol that was agreed on."""

    @property
    def buffered_amount(self) -> int:
        """Bytes that wait to be sent."""

    @property
    def is_closed(self) -> bool:
        """Whether nothing can be sent any more."""

    @property
    def close_code(self) -> int | None:
        """The close code, once the application has met the end; 1005 and 1006 stand for none (RFC 6455 section 7.1.5)."""

    @property
    def close_reason(self) -> str | None:
        """What was said beside the code."""

class Topics:
    """``tayet.topics``: the topics of the server that runs in this process."""

    def publish(self, topic: str, message: str | bytes | bytearray) -> int:
        """Sends a message to all that are in a topic, in the other worker processes too; from any thread.

        Returns how many sockets of this process it goes to. No socket is waited for. Only where 8 MiB are on their way to
        the other processes it waits for room, and raises ``TimeoutError`` after five seconds; a message of more than 4 MiB
        is a ``ValueError`` there.
        """

    def members(self, topic: str) -> int:
        """How many sockets of this process are in a topic."""

    def names(self) -> list[str]:
        """The topics in which sockets of this process are."""
