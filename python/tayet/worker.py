"""A worker process: loads the application and serves it until it is told to stop."""

import gc
import os
import sys

from tayet import loading
from tayet._tayet import Server, give_back_memory, start_log
from tayet.embedded import default_loops
from tayet.errors import CommandError
from tayet.log import Log, open_error_log
from tayet.system import signal

# What a worker tells its supervisor, a letter each. The last three are the native half's, which needs no GIL for them.
READY = b"r"
CHANGED = b"c"
MAX_REQUESTS = b"m"
MAX_RSS = b"s"
STUCK = b"t"

# The exit code of a worker whose application could not be loaded.
LOAD_FAILED = 3


def run(settings, listeners, pipe, relay, application=None):
    """Serves until SIGTERM; returns the exit code. ``pipe`` and ``relay`` lead to the supervisor."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    stopping = Stopping()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    log = Log(settings.log_level)
    reloader = make_reloader(settings, pipe)
    try:
        drop_privileges(settings)
        application = application or loading.load(settings.app)
        descriptors = [listener.fileno() for listener in listeners]
        server = make_server(application, settings, descriptors, pipe, relay.fileno())
        relay.close()
    except BaseException as error:
        _report(error, settings, log)
        if reloader is None:
            return LOAD_FAILED
        # Whoever edits the application will edit it again.
        reloader.start()
        stopping.wait()
        return 0
    signal.signal(signal.SIGUSR1, lambda *_: _reopen_logs(settings, server))
    # What the application has loaded stays: later collections need not look at it again.
    gc.collect()
    gc.freeze()
    give_back_memory()
    server.start()
    os.write(pipe, READY)
    if reloader:
        reloader.start()
    stopping.wait()
    return _stop(server)


class Stopping:
    """An event that a signal's handler can set: ``threading.Event`` could meet its own lock there.

    Python runs handlers in the main thread, which may be about to wait, and the system may give a signal to any other thread:
    so the main thread waits for the byte that every signal leaves in a pipe.
    """

    def __init__(self):
        self._is_set = False
        self._reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    def set(self):
        self._is_set = True

    def wait(self):
        while not self._is_set:
            os.read(self._reader, 64)


def make_server(application, settings, descriptors, pipe=None, relay=None):
    """The server that the settings describe."""
    chosen = {"loops": default_loops(), **settings.engine()}
    if settings.threads:
        chosen["execution"] = f"thread-pool:{settings.threads}"
    file = "" if settings.access_log_file == "-" else settings.access_log_file
    try:
        start_log(os.environ.get("TAYET_LOG", f"warn,tayet={settings.log_level}"))
        return Server(
            application,
            descriptors,
            [(name, str(value)) for name, value in chosen.items() if value is not None],
            variables=list(settings.variables),
            script_name=settings.script_name,
            multiprocess=settings.workers > 1,
            multithread=settings.threads != 1,
            timeout=settings.timeout,
            access_log=None if settings.access_log == "off" else (settings.access_log, file),
            supervisor=pipe,
            max_requests=settings.max_requests and settings.max_requests + jitter(settings.max_requests_jitter),
            max_rss_bytes=settings.max_rss * 1024 * 1024,
            relay=relay,
            websocket_threads=settings.websocket_threads,
            static_files=settings.static_files(),
        )
    except (ValueError, OSError) as error:
        raise CommandError(str(error)) from None


def jitter(most):
    """A number from 0 to ``most``, by chance."""
    import random

    return random.randint(0, most)


def make_reloader(settings, pipe):
    """What tells the supervisor of changed files; ``None`` unless the settings want that."""
    if not settings.reload:
        return None
    from tayet.reloader import Reloader

    return Reloader(settings.reload_extra, lambda: os.write(pipe, CHANGED))


def drop_privileges(settings):
    """Becomes the user and the group that the settings name."""
    if not settings.user and not settings.group:
        return
    import grp
    import pwd

    try:
        if settings.group:
            group = settings.group
            os.setgid(int(group) if group.isdigit() else grp.getgrnam(group).gr_gid)
        if settings.user:
            user = pwd.getpwuid(int(settings.user)) if settings.user.isdigit() else pwd.getpwnam(settings.user)
            os.initgroups(user.pw_name, os.getgid() if settings.group else user.pw_gid)
            if not settings.group:
                os.setgid(user.pw_gid)
            os.setuid(user.pw_uid)
    except (KeyError, OSError) as error:
        raise CommandError(f"cannot become {settings.user or '-'}:{settings.group or '-'}: {error}") from None


def _stop(server):
    """Answers what is under way. A thread that does not come back from the application must not hold up the end."""
    import threading

    server.shutdown()
    done = []
    waiter = threading.Thread(target=lambda: done.append(server.join()), daemon=True)
    waiter.start()
    waiter.join()
    sys.stdout.flush()
    sys.stderr.flush()
    return 0 if done == [True] else 1


def _reopen_logs(settings, server):
    open_error_log(settings.error_log)
    server.reopen_log()


def _report(error, settings, log):
    if isinstance(error, CommandError):
        log.error(str(error))
    else:
        import traceback

        # From the application's frames on: those of this package and of the import system tell nothing.
        traceback.print_exception(type(error), error, _own_frames(error.__traceback__))
        log.error(f"{settings.app} cannot be loaded")


def _own_frames(frames):
    skipped = (os.path.dirname(__file__), "<frozen importlib")
    while frames is not None and frames.tb_frame.f_code.co_filename.startswith(skipped + (os.path.dirname(os.__file__) + "/importlib",)):
        frames = frames.tb_next
    return frames
