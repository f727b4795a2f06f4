"""The supervising process: forks workers, replaces those that end or have served enough, and passes signals on.

It has one thread and never runs the application (unless it is told to preload it), so nothing that the application does can
harm it.

    starting --READY--> serving --replaced or stopping--> retiring --> gone
"""

import gc
import os
import select
import sys
import time

from tayet import loading, worker
from tayet._tayet import give_back_memory
from tayet.errors import CommandError
from tayet.log import Log, open_error_log
from tayet.relay import Relay
from tayet.system import signal, socket

# A worker that ends this soon after its start, unasked, makes its successor wait.
HASTY_SECONDS = 5.0
BACKOFF_FIRST_SECONDS = 0.1
BACKOFF_MAX_SECONDS = 5.0
# What a retiring worker has beyond the graceful timeout, to end by itself.
KILL_GRACE_SECONDS = 2.0

STARTING, SERVING, RETIRING = "starting", "serving", "retiring"

REASONS = {
    worker.MAX_REQUESTS: "it has served its number of requests",
    worker.MAX_RSS: "it has grown beyond its memory",
    worker.STUCK: "a request has taken longer than the timeout",
}


class Worker:
    """A worker process, as its supervisor knows it."""

    def __init__(self, pid, slot, generation, pipe, line):
        self.pid = pid
        self.slot = slot
        self.generation = generation
        self.pipe = pipe
        self.line = line
        self.state = STARTING
        self.started = time.monotonic()
        self.kill_at = None
        # Why it is to be replaced, if it has said so.
        self.spent = None


class Slot:
    """A place for a worker: its sockets, and when the next worker may start in it."""

    def __init__(self, index):
        self.index = index
        self.failures = 0
        self.start_at = 0.0


class Supervisor:
    """Keeps as many workers as the settings say, until it is told to stop."""

    def __init__(self, settings, listeners):
        self._settings = settings
        self._listeners = listeners
        self._log = Log(settings.log_level)
        self._workers = {}
        self._slots = [Slot(index) for index in range(max(settings.workers, 1))]
        self._generation = 0
        self._is_stopping = False
        self._exit_code = 0
        self._has_served = False
        self._application = None
        self._wake_reader, self._wake_writer = socket.socketpair()
        self._relay = Relay(self._log, self._figures_came)
        self._metrics = None

    def run(self):
        """Supervises until SIGTERM or SIGINT; returns the exit code."""
        open_error_log(self._settings.error_log)
        if self._settings.preload:
            self._application = loading.load(self._settings.app)
        if self._settings.metrics:
            # Imported where it is needed: every worker would keep it, and what it brings along, in memory.
            from tayet.metrics import MetricsPort

            self._metrics = MetricsPort(self._settings.metrics, self._serving_lines)
            self._log.info(f"figures are at {self._metrics.url}")
        self._catch_signals()
        self._write_pid()
        count = len(self._slots)
        for url in self._listeners.urls():
            self._log.info(f"listening on {url} with {count} worker{'s' if count > 1 else ''}")
        try:
            while self._workers or not self._is_stopping:
                self._start_missing()
                self._wait()
                self._reap()
                self._kill_overdue()
                if self._metrics:
                    self._metrics.look()
        finally:
            self._remove_pid()
            if self._metrics:
                self._metrics.close()
        self._ignore_signals()
        notify_systemd("STOPPING=1")
        self._log.info("stopped")
        return self._exit_code

    # Signals

    def _catch_signals(self):
        for end in (self._wake_reader, self._wake_writer):
            end.setblocking(False)
        signal.set_wakeup_fd(self._wake_writer.fileno(), warn_on_full_buffer=False)
        for number in self._handlers():
            # The wake-up descriptor tells which one it was.
            signal.signal(number, lambda *_: None)

    def _ignore_signals(self):
        """All is done. The interpreter's own end would give signals their default back, and one that comes then would make a
        failure of it."""
        for number in self._handlers():
            signal.signal(number, signal.SIG_IGN)

    def _handlers(self):
        return {
            signal.SIGTERM: self._stop,
            signal.SIGINT: self._stop,
            signal.SIGHUP: self._reload,
            signal.SIGUSR1: self._reopen_logs,
            signal.SIGCHLD: lambda: None,
        }

    def _stop(self):
        if self._is_stopping:
            self._log.warn("stopping at once")
            for pid in self._workers:
                _kill(pid, signal.SIGKILL)
            return
        self._log.info("stopping; a second signal ends it at once")
        self._is_stopping = True
        for found in list(self._workers.values()):
            self._retire(found)

    def _reload(self):
        if self._is_stopping:
            return
        if self._application is not None:
            self._log.warn("a preloaded application cannot be reloaded; restart the server")
            return
        self._log.info("reloading")
        notify_systemd("RELOADING=1")
        self._generation += 1
        for found in list(self._workers.values()):
            if found.state == STARTING:
                self._retire(found)
        for slot in self._slots:
            slot.start_at = slot.failures = 0

    def _reopen_logs(self):
        open_error_log(self._settings.error_log)
        for found in self._workers.values():
            if found.state != STARTING:
                _kill(found.pid, signal.SIGUSR1)

    # Workers

    def _start_missing(self):
        if self._is_stopping:
            return
        now = time.monotonic()
        for slot in self._slots:
            if self._is_missing(slot) and slot.start_at <= now:
                self._start(slot)

    def _is_missing(self, slot):
        return not any(
            found.slot is slot and found.generation == self._generation and found.state != RETIRING and not found.kill_at
            for found in self._workers.values()
        )

    def _start(self, slot):
        reader, writer = os.pipe()
        line = self._relay.open()
        sys.stdout.flush()
        # What is sent to the new process before it has handlers of its own must wait for them.
        signal.pthread_sigmask(signal.SIG_BLOCK, self._handlers())
        # A collection writes to every object that it looks at. What is there already it is not to look at, so that the
        # processes go on sharing that memory.
        gc.freeze()
        # Nor is it to inherit what is free here.
        give_back_memory()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            self._become_worker(slot, writer, line)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, self._handlers())
        os.close(writer)
        os.set_blocking(reader, False)
        line.started()
        self._workers[pid] = Worker(pid, slot, self._generation, reader, line)

    def _become_worker(self, slot, pipe, line):
        """In the new process, which never returns from here."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in self._handlers():
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, self._handlers())
            for found in self._workers.values():
                os.close(found.pipe)
            self._wake_reader.close()
            self._wake_writer.close()
            self._relay.forget_in_child(line)
            if self._metrics:
                self._metrics.forget_in_child()
            listeners = self._listeners.of_worker(slot.index)
            code = worker.run(self._settings, listeners, pipe, line.workers_end, self._application)
        finally:
            # Not the supervisor's way out: its files and its handlers are not this process's.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _retire(self, found):
        if found.state != RETIRING:
            found.state = RETIRING
            found.kill_at = time.monotonic() + self._settings.graceful_timeout + KILL_GRACE_SECONDS
            _kill(found.pid, signal.SIGTERM)

    def _hear(self, pipe):
        found = next(found for found in self._workers.values() if found.pipe == pipe)
        try:
            letters = os.read(pipe, 64)
        except OSError:
            return
        for letter in (letters[index : index + 1] for index in range(len(letters))):
            if letter == worker.READY:
                self._serving(found)
            elif letter == worker.CHANGED:
                self._log.info("a file has changed")
                self._reload()
            elif letter in REASONS:
                found.spent = REASONS[letter]
                self._replace_spent(found)

    def _serving(self, found):
        if found.state != STARTING:
            return
        found.state = SERVING
        self._has_served = True
        self._log.debug(f"worker {found.pid} serves")
        for other in list(self._workers.values()):
            if other.slot is found.slot and other is not found and other.state == SERVING:
                self._retire(other)
        served = {other.slot.index for other in self._workers.values() if other.state == SERVING}
        if len(served) == len(self._slots):
            notify_systemd("READY=1")
        self._replace_spent(found)

    def _replace_spent(self, found):
        # One that answers requests before it has said that it serves may be spent before, too: it says so once only.
        if found.spent and found.state == SERVING and found.generation == self._generation:
            self._log.info(f"worker {found.pid} is replaced: {found.spent}")
            # A generation behind: a successor is missing, and this one serves until it is there.
            found.generation -= 1

    def _reap(self):
        while self._workers:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            found = self._workers.pop(pid, None)
            if found is not None:
                os.close(found.pipe)
                self._relay.close(found.line)
                self._ended(found, os.waitstatus_to_exitcode(status))

    def _ended(self, found, code):
        if found.state == RETIRING:
            self._log.debug(f"worker {found.pid} has ended")
            return
        slot = found.slot
        if code == worker.LOAD_FAILED:
            self._load_failed(found)
        else:
            how = f"by {_signal_name(-code)}" if code < 0 else f"with {code}"
            self._log.error(f"worker {found.pid} has ended unasked, {how}")
        is_hasty = found.state == STARTING or time.monotonic() - found.started < HASTY_SECONDS
        slot.failures = slot.failures + 1 if is_hasty else 0
        if slot.failures:
            import random

            backoff = min(BACKOFF_FIRST_SECONDS * 2 ** (slot.failures - 1), BACKOFF_MAX_SECONDS)
            slot.start_at = time.monotonic() + backoff * random.uniform(0.8, 1.2)

    def _load_failed(self, found):
        if not self._has_served:
            self._exit_code = 1
            self._is_stopping = True
            for other in list(self._workers.values()):
                self._retire(other)
            return
        before = [other for other in self._workers.values() if other.slot is found.slot and other.state == SERVING]
        for other in before:
            self._log.error(f"worker {other.pid} goes on serving what it has")
            other.generation = self._generation

    def _kill_overdue(self):
        now = time.monotonic()
        for found in self._workers.values():
            if found.kill_at and found.kill_at <= now:
                self._log.error(f"worker {found.pid} did not end in time, and is killed")
                found.kill_at = now + KILL_GRACE_SECONDS
                _kill(found.pid, signal.SIGKILL)

    # Waiting

    def _wait(self):
        readers = {found.pipe: self._hear for found in self._workers.values()} | self._relay.readers()
        writers = self._relay.writers()
        if self._metrics:
            readers |= self._metrics.readers()
            writers |= self._metrics.writers()
        # A worker that serves already must not be taken for one that a signal meets at its start: signals come last.
        readers |= {self._wake_reader: self._handle_signals}
        # Not select(), which knows no descriptor beyond 1,023.
        poll = select.poll()
        for end in readers | writers:
            poll.register(end, (select.POLLIN if end in readers else 0) | (select.POLLOUT if end in writers else 0))
        seconds = self._next_deadline()
        ready = dict(poll.poll(None if seconds is None else seconds * 1000))
        for ends, other_event in ((readers, select.POLLOUT), (writers, select.POLLIN)):
            for end, act in ends.items():
                # An end or an error is for whoever looks.
                if ready.get(_descriptor(end), 0) & ~other_event:
                    act(end)

    def _handle_signals(self, _):
        handlers = self._handlers()
        try:
            numbers = self._wake_reader.recv(256)
        except BlockingIOError:
            return
        for number in numbers:
            handlers.get(number, lambda: None)()

    def _next_deadline(self):
        """Seconds until something is due; ``None`` when nothing is."""
        kills = [found.kill_at for found in self._workers.values() if found.kill_at]
        starts = [] if self._is_stopping else [slot.start_at for slot in self._slots if self._is_missing(slot)]
        looks = self._metrics.deadlines() if self._metrics else []
        due = min(kills + starts + looks, default=None)
        return None if due is None else max(due - time.monotonic(), 0.0)

    # Figures

    def _serving_lines(self):
        """Their lines, by their slots. A slot whose worker is being replaced has the one that serves."""
        return {str(found.slot.index): found.line for found in self._workers.values() if found.state == SERVING}

    def _figures_came(self, line, text):
        if self._metrics:
            self._metrics.figures_came(line, text)

    # The pid file

    def _write_pid(self):
        if not self._settings.pid:
            return
        try:
            with open(self._settings.pid, "w", encoding="ascii") as file:
                file.write(f"{os.getpid()}\n")
        except OSError as error:
            raise CommandError(f"cannot write {self._settings.pid}: {error.strerror}") from None

    def _remove_pid(self):
        if self._settings.pid:
            try:
                os.unlink(self._settings.pid)
            except OSError:
                pass


def notify_systemd(state):
    """Tells systemd how the service does, where it has asked for that (sd_notify(3))."""
    path = os.environ.get("NOTIFY_SOCKET")
    if not path:
        return
    address = "\0" + path[1:] if path.startswith("@") else path
    notifier = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        notifier.sendto(state.encode(), address)
    except OSError:
        pass
    finally:
        notifier.close()


def _signal_name(number):
    from signal import Signals

    return Signals(number).name


def _descriptor(end):
    return end if isinstance(end, int) else end.fileno()


def _kill(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
