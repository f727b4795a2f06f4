"""Starting a server of MongoDB's wire protocol, and a proxy in front of it that fails as it is told."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import threading
import time
import urllib.request
from pathlib import Path

from arena import POLL_INTERVAL_S, ROOT, START_TIMEOUT_S, STOP_TIMEOUT_S

TOOLS = ROOT / "target" / "tools" / "bin"
FERRETDB = Path(os.environ.get("TAYET_FERRETDB", TOOLS / "ferretdb"))
TOXIPROXY = TOOLS / "toxiproxy"

REQUEST_TIMEOUT_S = 10


class Program:
    """A running program, ended by `stop`."""

    def __init__(self, *command: str | Path, stdout: int = subprocess.DEVNULL) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.DEVNULL, text=True
        )

    def first_match(self, pattern: str) -> str:
        """The first group of the first line that fits, of a program with a pipe; what it prints later must not block it."""
        watchdog = threading.Timer(START_TIMEOUT_S, self.process.kill)
        watchdog.start()
        try:
            for line in self.process.stdout:
                if found := re.search(pattern, line):
                    threading.Thread(target=self.process.stdout.read, daemon=True).start()
                    return found[1]
        finally:
            watchdog.cancel()
        raise AssertionError(f"{self.process.args[0]} ended before it listened")

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(STOP_TIMEOUT_S)
        finally:
            self.process.kill()
            self.process.wait()


class Database(Program):
    """FerretDB, with its files in a directory of the test's."""

    def __init__(self, directory: Path) -> None:
        super().__init__(FERRETDB, "-listen", "127.0.0.1:0", "-directory", str(directory), stdout=subprocess.PIPE)
        self.address = self.first_match(r"^listening on mongodb://([^/]+)/")


class Wire:
    """One way through the proxy, whole until it is told otherwise."""

    def __init__(self, proxy: Proxy, name: str, address: str) -> None:
        self._proxy = proxy
        self._path = f"/proxies/{name}"
        self.address = address

    def delay(self, latency_ms: int) -> None:
        self._add("latency", latency=latency_ms)

    def reset(self) -> None:
        """Connections are reset as soon as they are made."""
        self._add("reset_peer", timeout=0)

    def swallow(self) -> None:
        """Connections are taken, and nothing ever comes out of them."""
        self._add("timeout", timeout=0)

    def cut(self) -> None:
        """Nobody listens any more."""
        self._proxy.ask(self._path, {"enabled": False})

    def mend(self) -> None:
        """As it was at first; connections that were made meanwhile are closed."""
        for toxic in self._proxy.ask(f"{self._path}/toxics"):
            self._proxy.ask(f"{self._path}/toxics/{toxic['name']}", method="DELETE")
        self._proxy.ask(self._path, {"enabled": True})

    def _add(self, kind: str, **attributes: int) -> None:
        """Does it to what comes back: what is asked still arrives."""
        self._proxy.ask(f"{self._path}/toxics", {"type": kind, "stream": "downstream", "attributes": attributes})


class Proxy(Program):
    """toxiproxy. It logs each connection, so that a pipe nobody reads would soon stop it."""

    def __init__(self) -> None:
        port = free_port()
        self._url = f"http://127.0.0.1:{port}"
        super().__init__(TOXIPROXY, "-host", "127.0.0.1", "-port", str(port))
        self._wait_until_it_listens(port)

    def wire(self, upstream: str) -> Wire:
        """A new way to an address."""
        made = self.ask("/proxies", {"name": f"to-{upstream}", "listen": "127.0.0.1:0", "upstream": upstream})
        return Wire(self, made["name"], made["listen"])

    def _wait_until_it_listens(self, port: int) -> None:
        give_up_at = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), REQUEST_TIMEOUT_S).close()
                return
            except ConnectionRefusedError:
                assert self.process.poll() is None and time.monotonic() < give_up_at, "toxiproxy does not listen"
                time.sleep(POLL_INTERVAL_S)

    def ask(self, path: str, body: object = None, *, method: str | None = None) -> object:
        """What its own interface answers, if anything."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data, method=method)
        with urllib.request.urlopen(request, timeout=REQUEST_TIMEOUT_S) as response:
            text = response.read()
        return json.loads(text) if text else None


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
