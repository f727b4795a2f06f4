"""The command as a process."""

import re
import signal
import subprocess
import sys
import time

from client import Client

WAIT_SECONDS = 30


class Command:
    """A running ``tayet-wsgi``."""

    def __init__(self, directory, *arguments, flags=(), **kwargs):
        """``flags`` are the interpreter's."""
        self.log = directory / "log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, *flags, "-m", "tayet", *arguments], cwd=directory, stderr=log, stdout=subprocess.PIPE, **kwargs
            )

    def text(self):
        return self.log.read_text()

    def wait_for(self, pattern, count=1):
        """Waits until a line of the log matches so many times."""
        return until(lambda: (found := re.findall(pattern, self.text())) and len(found) >= count and found[-1])

    def client(self):
        return Client(self.wait_for(r"listening on http://(\S+)"))

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        try:
            return self.process.wait(WAIT_SECONDS)
        finally:
            self.process.kill()
            self.process.stdout.close()


def until(condition):
    deadline = time.monotonic() + WAIT_SECONDS
    while not (found := condition()):
        assert time.monotonic() < deadline, "what the test waits for did not happen"
        time.sleep(0.02)
    return found
