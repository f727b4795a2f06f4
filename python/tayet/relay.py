"""The supervisor's end of its workers' lines: what one publishes goes to the others, and their figures come here.

The frames are described in ``crates/tayet-wsgi/src/relay.rs``. The supervisor looks at a frame's length and its letter only.
Nothing here waits: a worker that takes nothing misses what would exceed its queue.
"""

from tayet.system import socket, struct

# As in crates/tayet-wsgi/src/relay.rs.
MAX_FRAME_BYTES = 4 * 1024 * 1024
# What may wait for a worker; what is published beyond it passes that worker by.
LINE_QUEUE_BYTES = 16 * 1024 * 1024
# What is read of a worker at a time, so that each has its turn.
READ_BYTES = 256 * 1024

LENGTH = struct.Struct("<I")
FIGURES_WANTED = LENGTH.pack(1) + b"?"
FIGURES = b"!"


class Line:
    """One worker's line."""

    def __init__(self):
        self.supervisors_end, self.workers_end = socket.socketpair()
        self.supervisors_end.setblocking(False)
        self._received = bytearray()
        self._unsent = []
        self._unsent_bytes = 0
        self.missed = 0

    @property
    def is_waiting(self):
        """Whether something is still to be sent."""
        return bool(self._unsent)

    def started(self):
        """The worker has its end now."""
        self.workers_end.close()

    def close(self):
        self.workers_end.close()
        self.supervisors_end.close()

    def read(self):
        """The frames that have come, each with its length before it. ``None`` when the worker has hung up."""
        try:
            received = self.supervisors_end.recv(READ_BYTES)
        except BlockingIOError:
            return []
        except OSError:
            return None
        if not received:
            return None
        self._received += received
        return self._take_frames()

    def send(self, frame):
        """Sends what there is room for now; the rest waits."""
        if self._unsent_bytes + len(frame) > LINE_QUEUE_BYTES:
            self.missed += 1
            return
        self._unsent.append(memoryview(frame))
        self._unsent_bytes += len(frame)
        self.flush()

    def flush(self):
        while self._unsent:
            try:
                count = self.supervisors_end.send(self._unsent[0])
            except BlockingIOError:
                return
            except OSError:
                # It has ended, as its process will tell.
                self._unsent.clear()
                self._unsent_bytes = 0
                return
            self._unsent_bytes -= count
            if count == len(self._unsent[0]):
                self._unsent.pop(0)
            else:
                self._unsent[0] = self._unsent[0][count:]

    def _take_frames(self):
        frames, start = [], 0
        while len(self._received) - start >= LENGTH.size:
            (length,) = LENGTH.unpack_from(self._received, start)
            if not 0 < length <= MAX_FRAME_BYTES:
                return None
            end = start + LENGTH.size + length
            if end > len(self._received):
                break
            frames.append(bytes(self._received[start:end]))
            start = end
        del self._received[:start]
        return frames


class Relay:
    """All lines."""

    def __init__(self, log, on_figures):
        """``on_figures(line, text)`` is called with the figures that were asked for."""
        self._log = log
        self._on_figures = on_figures
        self._lines = {}

    def open(self):
        """A line for a new worker."""
        line = Line()
        self._lines[line.supervisors_end] = line
        return line

    def close(self, line):
        """A worker is gone."""
        self._lines.pop(line.supervisors_end, None)
        line.close()
        if line.missed:
            self._log.warn(f"a worker has missed {line.missed} publications, since it took nothing")

    def readers(self):
        return {end: self._read for end in self._lines}

    def writers(self):
        return {end: self._flush for end, line in self._lines.items() if line.is_waiting}

    def forget_in_child(self, own):
        """In a new worker, which has ``own``: the others' lines are none of its own."""
        for line in self._lines.values():
            line.supervisors_end.close()
            if line is not own:
                line.workers_end.close()

    def _flush(self, end):
        self._lines[end].flush()

    def _read(self, end):
        line = self._lines[end]
        frames = line.read()
        if frames is None:
            # Its process ends, or has a server no longer; nothing more will come.
            del self._lines[end]
            return
        for frame in frames:
            if frame[LENGTH.size : LENGTH.size + 1] == FIGURES:
                self._on_figures(line, frame[LENGTH.size + 1 :].decode())
            else:
                self._forward(line, frame)

    def _forward(self, origin, frame):
        for line in self._lines.values():
            if line is not origin:
                line.send(frame)
