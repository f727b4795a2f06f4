"""Starting, watching and stopping a server program."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from peer import Peer

START_TIMEOUT_S = 20
STOP_TIMEOUT_S = 20
POLL_INTERVAL_S = 0.01

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PROFILE = os.environ.get("TAYET_WIRE_PROFILE", "debug")
ARENA = TARGET / PROFILE / "examples" / "arena"
TAYET = TARGET / PROFILE / "tayet"


@dataclass(frozen=True)
class Address:
    """Where a server says it listens."""

    family: socket.AddressFamily
    target: tuple[str, int] | str

    @classmethod
    def parse(cls, text: str) -> Address:
        """Reads `http://HOST:PORT` or `unix:PATH`."""
        if text.startswith("unix:"):
            return cls(socket.AF_UNIX, text.removeprefix("unix:"))
        host, port = re.fullmatch(r"http://(.+):(\d+)", text).groups()
        if host.startswith("["):
            return cls(socket.AF_INET6, (host.strip("[]"), int(port)))
        return cls(socket.AF_INET, (host, int(port)))


class Server:
    """A running server program; `stop` is its graceful end."""

    def __init__(self, program: Path, *flags: str, limits: dict[str, object] | None = None) -> None:
        """Starts the program with each limit set by its name, and waits until it says where it listens."""
        self.has_ended = False
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [program, *flags],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            env=environment(limits or {}),
        )
        try:
            self.addresses = self._read_addresses(max(1, flags.count("--listen")))
        except BaseException:
            self.kill()
            raise
        # What the program prints later must not fill the pipe and block it.
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def _read_addresses(self, count: int) -> list[Address]:
        watchdog = threading.Timer(START_TIMEOUT_S, self.process.kill)
        watchdog.start()
        try:
            addresses = []
            for line in self.process.stdout:
                if line.startswith("listening on "):
                    addresses.append(Address.parse(line.removeprefix("listening on ").strip()))
                    if len(addresses) == count:
                        return addresses
            raise AssertionError(f"the server ended before it listened: {self.error_output()}")
        finally:
            watchdog.cancel()

    @property
    def port(self) -> int:
        """The TCP port of the first address."""
        return self.addresses[0].target[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def connect(self, address: Address | None = None, *, receive_buffer_bytes: int | None = None) -> Peer:
        """A new connection, to the first address unless another is named."""
        address = address or self.addresses[0]
        connection = socket.socket(address.family, socket.SOCK_STREAM)
        if receive_buffer_bytes is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        peer = Peer(connection)
        connection.connect(address.target)
        return peer

    def get(self, target: str) -> bytes:
        """The body of a 200 to a GET on a connection of its own."""
        with self.connect() as peer:
            peer.request("GET", target)
            response = peer.response()
            assert response.status == 200, response
            return response.body

    def metrics(self) -> dict[str, float]:
        """Each figure that the program gives of itself, by its name and labels."""
        lines = self.get("/metrics").decode().splitlines()
        assert lines[-1] == "# EOF"
        samples = [line.rsplit(" ", 1) for line in lines if not line.startswith("#")]
        assert len({name for name, _ in samples}) == len(samples), "a figure comes twice"
        return {name: float(value) for name, value in samples}

    def wait_for_figure(self, name: str, value: float) -> None:
        """Waits until one of the program's figures has this value."""
        while self.metrics()[name] != value:
            time.sleep(POLL_INTERVAL_S)

    def wait_for_more(self, name: str, value: float) -> None:
        """Waits until one of the program's figures is above this value: what is sent is counted just behind the sending."""
        while self.metrics()[name] <= value:
            time.sleep(POLL_INTERVAL_S)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        """The exit status of a program that is about to end; who asks for it judges it."""
        status = self.process.wait(STOP_TIMEOUT_S)
        self.has_ended = True
        return status

    def stop(self) -> None:
        """Ends the program as an administrator would, and expects that it ends well."""
        if self.has_ended:
            return
        self.signal(signal.SIGTERM)
        try:
            status = self.wait()
        finally:
            self.kill()
        assert status == 0, f"exit status {status}: {self.error_output()}"

    def kill(self) -> None:
        """Ends the program whatever it is doing."""
        self.process.kill()
        self.process.wait()

    def error_output(self) -> str:
        self.errors.seek(0)
        return self.errors.read()

    def is_running(self) -> bool:
        return self.process.poll() is None

    def memory_kib(self, field: str) -> int:
        """`VmRSS` (now) or `VmHWM` (the most so far) of the program."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"^{field}:\s+(\d+) kB$", status, re.MULTILINE)[1])

    def threads(self) -> list[str]:
        """The names of the program's threads."""
        names = []
        for thread in Path(f"/proc/{self.process.pid}/task").iterdir():
            try:
                names.append((thread / "comm").read_text().strip())
            except (FileNotFoundError, ProcessLookupError):
                pass  # ended since the directory was read
        return names

    def open_sockets(self) -> int:
        """How many sockets the program holds, listeners included."""
        count = 0
        for descriptor in Path(f"/proc/{self.process.pid}/fd").iterdir():
            try:
                count += os.readlink(descriptor).startswith("socket:")
            except FileNotFoundError:
                pass  # closed since the directory was read
        return count


def lines_of(log: Path, count: int) -> list[str]:
    """The lines of a log, once so many of them have been written."""
    while len(lines := log.read_text().splitlines()) < count:
        time.sleep(POLL_INTERVAL_S)
    return lines


def environment(limits: dict[str, object]) -> dict[str, str]:
    """This process's environment with `limits` in the variables that set them, and no other of Tayet's."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TAYET_")}
    return inherited | {f"TAYET_{name.upper()}": str(value) for name, value in limits.items()}
