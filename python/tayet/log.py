"""What the supervisor and its workers say of themselves: lines on the standard error."""

import os
import sys
import time

LEVELS = ("error", "warn", "info", "debug")


class Log:
    """Writes what is at least as important as ``level``."""

    def __init__(self, level):
        self._limit = LEVELS.index(level)

    def error(self, text):
        self._write("error", text)

    def warn(self, text):
        self._write("warn", text)

    def info(self, text):
        self._write("info", text)

    def debug(self, text):
        self._write("debug", text)

    def _write(self, level, text):
        if LEVELS.index(level) <= self._limit:
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            # One write, so that the lines of several processes do not mix.
            sys.stderr.write(f"{now} {level.upper():>5} tayet[{os.getpid()}]: {text}\n")
            sys.stderr.flush()


def open_error_log(path):
    """Has the standard error, of Python and of all else in this process, go to a file from here on."""
    if path == "-":
        return
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(descriptor, 2)
    os.close(descriptor)
