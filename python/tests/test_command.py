"""The command, as a process with workers."""

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
import tayet
from client import Client
from process import WAIT_SECONDS, until
from tayet.options import COMMAND_OPTIONS, OPTIONS

APP = """
import os, time

def app(environ, start_response):
    if environ["PATH_INFO"] == "/sleep":
        time.sleep(1)
    if environ["PATH_INFO"] == "/hang":
        time.sleep(600)
    if environ["PATH_INFO"] == "/grow":
        app.hold = b"x" * (200 << 20)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"version 1 of %d" % os.getpid()]

def make_app(name, *, shout=False):
    def made(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [(name.upper() if shout else name).encode()]
    return made
"""

# Where the package is.
PACKAGES = os.path.dirname(os.path.dirname(tayet.__file__))


def worker_of(client):
    return int(client.get().text.rpartition(" ")[2])


def get_again(client):
    """As clients do: a worker at its end may close a connection on which nothing has been asked yet."""
    while True:
        with contextlib.suppress(ConnectionResetError, http.client.RemoteDisconnected):
            return client.get()


def fails(directory, *arguments):
    """What a command says that ends in an error."""
    done = subprocess.run(
        [sys.executable, "-m", "tayet", *arguments], cwd=directory, capture_output=True, text=True, timeout=WAIT_SECONDS
    )
    assert done.returncode == 1, done
    return done.stderr


def test_it_serves_and_stops(serving):
    started = serving()
    assert started.client().get().text.startswith("version 1 of ")
    assert started.stop() == 0


def test_a_factory_is_called_with_its_arguments(command):
    started = command("served:make_app('tayet', shout=True)", "--bind", "127.0.0.1:0")
    assert started.client().get().text == "TAYET"


def test_several_workers_serve_one_address(serving):
    client = serving("--workers", "2").client()
    seen = set()
    until(lambda: seen.add(worker_of(client)) or len(seen) == 2)


def test_requests_under_way_are_answered_before_the_end(serving):
    started = serving()
    client = started.client()
    with client.connect() as connection:
        connection.sendall(b"GET /sleep HTTP/1.1\r\nHost: h\r\n\r\n")
        time.sleep(0.3)
        started.signal(signal.SIGTERM)
        raw = b"".join(iter(lambda: connection.recv(4096), b""))
    assert raw.startswith(b"HTTP/1.1 200 OK\r\n") and b"version 1" in raw
    assert started.stop() == 0


def test_signals_that_keep_coming_do_not_make_a_failure_of_the_end(serving):
    started = serving()
    started.client()
    while started.process.poll() is None:
        started.signal(signal.SIGTERM)
    assert started.stop() == 0


def test_a_killed_worker_is_replaced(serving):
    client = serving().client()
    before = worker_of(client)
    os.kill(before, signal.SIGKILL)
    # The socket is the supervisor's, so nobody is refused meanwhile.
    assert worker_of(client) != before


def test_a_killed_worker_loses_what_it_held_and_nothing_else(serving):
    client = serving("--workers", "2").client()
    until(lambda: len({worker_of(client) for _ in range(8)}) == 2)
    held, answers = {}, []
    for _ in range(24):
        connection = http.client.HTTPConnection(*client.address, timeout=WAIT_SECONDS)
        connection.request("GET", "/")
        held[connection] = int(connection.getresponse().read().rpartition(b" ")[2])
    victim = next(iter(held.values()))
    assert victim in held.values() and len(set(held.values())) == 2
    for connection in held:
        connection.request("GET", "/sleep")
    os.kill(victim, signal.SIGKILL)
    for connection, worker in held.items():
        with contextlib.closing(connection), contextlib.suppress(ConnectionError, http.client.RemoteDisconnected):
            answers.append((worker, connection.getresponse().status))
    survivors = [worker for worker in held.values() if worker != victim]
    assert answers == [(worker, 200) for worker in survivors]
    # Whoever comes meanwhile waits for the successor, at most.
    seen = set()
    until(lambda: seen.add(worker_of(client)) or len(seen) == 2)
    assert victim not in seen


def test_a_reload_brings_the_new_code_and_refuses_nobody(serving, directory):
    started = serving("-w", "2")
    client = started.client()
    assert client.get().text.startswith("version 1")
    wrong = []
    stop = threading.Event()

    def ask():
        while not stop.is_set():
            try:
                if get_again(client).status != 200:
                    wrong.append("status")
            except OSError as error:
                wrong.append(error)

    askers = [threading.Thread(target=ask) for _ in range(4)]
    for asker in askers:
        asker.start()
    (directory / "served.py").write_text(APP.replace("version 1", "version 2"))
    started.signal(signal.SIGHUP)
    try:
        fresh = [0]
        until(lambda: (fresh.append(fresh[-1] + 1) if get_again(client).text.startswith("version 2") else fresh.append(0)) or fresh[-1] > 20)
    finally:
        stop.set()
        for asker in askers:
            asker.join()
    assert wrong == []


def test_a_reload_that_fails_leaves_what_was_there(serving, directory):
    started = serving()
    client = started.client()
    client.get()
    (directory / "served.py").write_text("def app(:\n")
    started.signal(signal.SIGHUP)
    started.wait_for("goes on serving")
    assert "SyntaxError" in started.text()
    assert client.get().text.startswith("version 1")


def test_a_worker_that_has_served_enough_is_replaced(serving):
    client = serving("--max-requests", "5").client()
    seen = set()

    until(lambda: seen.add(get_again(client).text) or len(seen) == 3)


def test_a_worker_that_has_grown_is_replaced(serving):
    started = serving("--max-rss", "150")
    client = started.client()
    before = worker_of(client)
    client.get("/grow")
    started.wait_for("grown beyond its memory")
    until(lambda: str(before) not in get_again(client).text)


def test_a_worker_is_replaced_that_has_served_its_number_before_it_is_known_to_serve(serving, directory):
    late = """
import os
write = os.write

def write_late(descriptor, data):
    if data == b"r":
        time.sleep(1)
    return write(descriptor, data)

os.write = write_late
"""
    (directory / "served.py").write_text(APP + late)
    client = serving("--max-requests", "1").client()
    before = worker_of(client)
    until(lambda: str(before) not in get_again(client).text)


def test_a_worker_that_hangs_is_replaced(serving):
    started = serving("--timeout", "1", "--graceful-timeout", "1")
    client = started.client()
    before = worker_of(client)
    assert client.get("/hang").status == 503
    started.wait_for("longer than the timeout")
    until(lambda: str(before) not in get_again(client).text)
    until(lambda: not os.path.exists(f"/proc/{before}"))


def test_a_change_reloads_when_asked_to(serving, directory):
    started = serving("--reload")
    client = started.client()
    assert client.get().text.startswith("version 1")
    (directory / "served.py").write_text("def app(:\n")
    started.wait_for("SyntaxError")
    (directory / "served.py").write_text(APP.replace("version 1", "version 2, longer"))
    until(lambda: get_again(client).text.startswith("version 2"))


def test_unix_sockets_go_with_the_server(command, directory):
    path = directory / "app.sock"
    started = command("served:app", "-b", f"unix:{path}")
    until(path.exists)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert b"version 1" in b"".join(iter(lambda: connection.recv(4096), b""))
    assert started.stop() == 0
    assert not path.exists()


def test_a_socket_is_inherited(command):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        os.set_inheritable(listener.fileno(), True)
        number = listener.fileno()
        started = command("served:app", "-b", f"fd://{number}", pass_fds=[number])
        assert started.client().get().text.startswith("version 1")


def test_sockets_come_from_systemd(directory):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        script = (
            f"import os, sys; os.dup2({listener.fileno()}, 3); os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1');"
            "os.execv(sys.executable, [sys.executable, '-m', 'tayet', 'served:app'])"
        )
        process = subprocess.Popen([sys.executable, "-c", script], cwd=directory, pass_fds=[listener.fileno()])
        try:
            host, port = listener.getsockname()
            assert Client(f"{host}:{port}").get().text.startswith("version 1")
        finally:
            process.terminate()
            assert process.wait(WAIT_SECONDS) == 0


def test_access_lines_go_to_a_file_that_can_be_rotated(serving, directory):
    log = directory / "access.log"
    started = serving("--access-log", "combined", "--access-log-file", str(log))
    client = started.client()
    client.get("/one")
    until(lambda: '"GET /one HTTP/1.1" 200' in log.read_text())
    log.rename(directory / "access.log.1")
    started.signal(signal.SIGUSR1)
    until(lambda: client.get("/two") and log.exists() and "/two" in log.read_text())


def test_errors_go_to_a_file(command, directory):
    (directory / "failing.py").write_text("def app(environ, start_response):\n    raise LookupError('here')\n")
    errors = directory / "errors.log"
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command("failing:app", "-b", f"127.0.0.1:{port}", "--error-log", str(errors))
    until(lambda: errors.exists() and "listening" in errors.read_text())
    assert Client(f"127.0.0.1:{port}").get().status == 500
    until(lambda: "LookupError: here" in errors.read_text())


def test_static_files_are_served_without_the_application(serving, directory):
    (directory / "public").mkdir()
    (directory / "public" / "a.css").write_text("a {}")
    client = serving("--static", "/static=public").client()
    answer = client.get("/static/a.css")
    assert (answer.text, answer.headers["Content-Type"].partition(";")[0]) == ("a {}", "text/css")
    assert client.get("/static/none").status == 404
    assert client.get("/static/../served.py").status in (400, 404)
    assert client.get("/other").text.startswith("version 1")


# What is wrong


def test_a_missing_module_is_named(directory):
    assert "there is no module 'nowhere'" in fails(directory, "nowhere:app", "-b", "127.0.0.1:0")


def test_a_module_that_the_application_misses_has_its_traceback(directory):
    (directory / "missing.py").write_text("import nowhere\n")
    said = fails(directory, "missing:app", "-b", "127.0.0.1:0")
    assert "ModuleNotFoundError: No module named 'nowhere'" in said and 'missing.py", line 1' in said


def test_a_wrong_attribute_has_its_nearest(directory):
    assert "did you mean 'make_app'" in fails(directory, "served:mak_app", "-b", "127.0.0.1:0")


def test_a_syntax_error_has_its_place(directory):
    (directory / "broken.py").write_text("x = 1\ndef app(:\n")
    said = fails(directory, "broken:app", "-b", "127.0.0.1:0")
    assert "SyntaxError" in said and 'broken.py", line 2' in said
    assert "importlib" not in said, "frames that tell nothing"


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_taken_port_is_named(directory, workers):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        said = fails(directory, "served:app", "-b", f"127.0.0.1:{port}", "-w", workers)
    assert said.strip() == f"tayet-wsgi: cannot listen on 127.0.0.1:{port}: Address already in use"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "say what to serve"),
        (["served:app", "served:app"], "one too many"),
        (["served:app", "--worker", "2"], "there is no option --worker;"),
        (["served:app", "--no-workers"], "there is no option --no-workers;"),
        (["served:app", "-x"], "there is no option -x;"),
        (["served:app", "--reload=yes"], "--reload takes no value"),
        (["served:app", "-b"], "-b needs a value: where to listen"),
        (["served:app", "-w", "many"], "a whole number"),
        (["served:app", "-b", "nonsense"], "no address to listen on"),
        (["served:app", "--access-log", "fancy"], "one of off, common"),
        (["served:app", "--set", "head_timeout=5", "-b", "127.0.0.1:0"], "nearest one is `head_timeout_ms`"),
        (["served:app", "-c", "none.toml"], "cannot read"),
        (["served.py"], "no module's name; write served:app"),
        (["served:app", "-b", "127.0.0.1:0", "--static", "/static"], "/PATH=DIRECTORY"),
        (["served:app", "-b", "127.0.0.1:0", "--static", "/static=nowhere"], "nowhere"),
    ],
)
def test_a_wrong_option_is_explained(directory, arguments, said):
    assert said in fails(directory, *arguments)


# Where options come from


def printed(directory, *arguments, **variables):
    done = subprocess.run(
        [sys.executable, "-m", "tayet", "served:app", "--print-config", *arguments],
        cwd=directory,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
        timeout=WAIT_SECONDS,
    )
    return dict(line.split(" = ", 1) for line in done.stdout.splitlines())


def test_the_command_line_prevails_over_the_environment_and_that_over_the_file(directory):
    (directory / "tayet.toml").write_text("workers = 2\nthreads = 3\ntimeout = 4\n[set]\nmax_headers = 7\n")
    found = printed(directory, "-c", "tayet.toml", "--threads", "9", TAYET_THREADS="8", TAYET_WORKERS="5")
    assert (found["workers"], found["threads"], found["timeout"]) == ("5", "9", "4.0")
    assert found["set"] == '["max_headers=7"]'


@pytest.mark.parametrize("workers", [["-w", "3"], ["-w3"], ["-w=3"], ["--workers", "3"], ["--workers=3"]])
def test_a_value_stands_behind_its_option_or_in_it(directory, workers):
    found = printed(directory, *workers, "-b", "unix:a,unix:b", "--bind=unix:c", "--reload", "--no-reload")
    assert (found["workers"], found["bind"], found["reload"]) == ("3", '["unix:a", "unix:b", "unix:c"]', "false")


def test_help_has_every_option(directory):
    command = [sys.executable, "-m", "tayet", "--help"]
    said = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=True, timeout=WAIT_SECONDS).stdout
    for option in (*OPTIONS, *COMMAND_OPTIONS):
        assert f"{option.flag} " in said or f"{option.flag}\n" in said or f"{option.flag}," in said, option.flag


def test_a_server_keeps_out_of_memory_what_only_applications_may_need(command, directory):
    (directory / "lean.py").write_text(
        "import sys\n"
        "def app(environ, start_response):\n"
        "    start_response('200 OK', [('Content-Type', 'text/plain')])\n"
        "    return [' '.join(sys.modules).encode()]\n"
    )
    # Without site, which may bring anything along.
    running = command("lean:app", "-b", "127.0.0.1:0", flags=["-S"], env={**os.environ, "PYTHONPATH": PACKAGES})
    loaded = set(running.client().get().text.split())
    assert "tayet.supervisor" in loaded
    assert not loaded & {"argparse", "asyncio", "enum", "re", "selectors", "signal", "socket", "threading", "typing"}


def test_more_descriptors_than_select_knows_are_no_hindrance(command, directory):
    (directory / "sitecustomize.py").write_text(
        "import os, resource\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (2048, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))\n"
        "kept = [os.open(os.devnull, os.O_RDONLY) for _ in range(1024)]\n"
    )
    started = command("served:app", "-b", "127.0.0.1:0", env={**os.environ, "PYTHONPATH": str(directory)})
    assert started.client().get().text.startswith("version 1 of ")
    assert started.stop() == 0


def test_what_is_printed_is_a_configuration_file(directory):
    first = printed(directory, "-b", "unix:/tmp/a,127.0.0.1:1", "--max-rss", "5", "--reload")
    (directory / "again.toml").write_text("".join(f"{name} = {value}\n" for name, value in first.items()))
    assert printed(directory, "-c", "again.toml") == first


def test_a_configuration_file_may_be_python(directory):
    (directory / "config.py").write_text("import os\nworkers = len('ab')\nbind = ['127.0.0.1:5']\n")
    found = printed(directory, "-c", "config.py")
    assert (found["workers"], found["bind"]) == ("2", '["127.0.0.1:5"]')


def test_check_config_loads_the_application(directory):
    checked = subprocess.run(
        [sys.executable, "-m", "tayet", "served:app", "--check-config"], cwd=directory, capture_output=True, timeout=30
    )
    assert checked.returncode == 0
    (directory / "broken.py").write_text("raise RuntimeError('at import')\n")
    assert "RuntimeError: at import" in fails(directory, "broken:app", "--check-config")
