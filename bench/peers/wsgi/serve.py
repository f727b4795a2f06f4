"""Becomes a WSGI server: `serve.py SERVER HOST PORT WORKERS THREADS APPLICATION` serves the `plain` or the `flask`
application of this directory.

Each in the settings that its makers recommend for production, without logs. THREADS is for those that have a fixed number of
them; the others ignore it.
"""

import importlib
import os
import sys

APPLICATION = "app:application"


def tayet(host, port, workers, threads):
    run("tayet", APPLICATION, "--bind", f"{host}:{port}", "--workers", workers, "--log-level", "error")


def tayet_threads(host, port, workers, threads):
    run("tayet", APPLICATION, "--bind", f"{host}:{port}", "--workers", workers, "--threads", threads, "--log-level", "error")


def gunicorn_sync(host, port, workers, threads):
    run("gunicorn", APPLICATION, "--bind", f"{host}:{port}", "--workers", workers, "--log-level", "error")


def gunicorn_gthread(host, port, workers, threads):
    bind = ["--bind", f"{host}:{port}", "--workers", workers, "--log-level", "error"]
    run("gunicorn", APPLICATION, *bind, "--worker-class", "gthread", "--threads", threads)


def granian(host, port, workers, threads):
    bind = ["--host", host, "--port", port, "--workers", workers, "--no-log"]
    run("granian", APPLICATION, *bind, "--interface", "wsgi", "--no-ws", "--blocking-threads", threads)


def waitress(host, port, workers, threads):
    run("waitress", "--listen", f"{host}:{port}", "--threads", threads, APPLICATION)


def uwsgi(host, port, workers, threads):
    # Its own router keeps connections alive; a worker of its own would be one connection's at a time.
    router = ["--http", f"{host}:{port}", "--http-keepalive", "--listen", "100"]
    processes = ["--master", "--processes", workers, "--threads", threads]
    quiet = ["--disable-logging", "--log-master", "--logto", "/dev/null"]
    command = os.path.join(os.path.dirname(sys.executable), "uwsgi")
    os.execv(command, ["uwsgi", *router, *processes, *quiet, "--die-on-term", "--need-app", "--module", APPLICATION])


def bjoern(host, port, workers, threads):
    server = importlib.import_module("bjoern")
    server.listen(application(), host, int(port))
    fork_others(workers)
    server.run()


def fastwsgi(host, port, workers, threads):
    server = importlib.import_module("fastwsgi")
    fork_others(workers)
    server.run(wsgi_app=application(), host=host, port=int(port), loglevel=0)


def fastpysgi(host, port, workers, threads):
    server = importlib.import_module("fastpysgi")
    fork_others(workers)
    server.run(application(), host=host, port=int(port), loglevel=0)


def application():
    return importlib.import_module("app").application


def fork_others(workers):
    for _ in range(int(workers) - 1):
        if os.fork() == 0:
            return


def run(module, *arguments):
    """Goes on as `python -m module`, and nothing of this program stays in memory."""
    os.execv(sys.executable, [sys.executable, "-m", module, *arguments])


if __name__ == "__main__":
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    sys.path.insert(0, os.getcwd())
    server, host, port, workers, threads, os.environ["BENCH_APPLICATION"] = sys.argv[1:]
    globals()[server.replace("-", "_")](host, port, workers, threads)
