"""What several worker processes do together: publications, figures, the end of sockets."""

import contextlib
import http.client
import os
import re
import signal
import socket

import pytest
from client import TIMEOUT_SECONDS, Client
from process import until
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

APP = """
import os, threading, time
import tayet

def app(environ, start_response):
    ws = environ.get("tayet.websocket")
    if ws is not None:
        ws.accept(on_message=lambda ws, message: tayet.publish("room", message))
        ws.subscribe("room")
        ws.send(str(os.getpid()))
        return []
    if environ["PATH_INFO"] == "/publish":
        tayet.publish("room", environ["wsgi.input"].read())
    elif environ["PATH_INFO"] == "/sleep":
        time.sleep(1)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [str(os.getpid()).encode()]
"""


@pytest.fixture
def serving(serving):
    return lambda *arguments: serving("--log-level", "debug", *arguments)


@pytest.fixture
def two_with_metrics(serving):
    """Two workers, a client of theirs and one of their metrics port."""
    running, client = serve_two(serving, "--metrics", "127.0.0.1:0")
    return running, client, Client(running.wait_for(r"figures are at http://(\S+)/metrics"))


class Member:
    """A socket in the room."""

    def __init__(self, client):
        self.connection = connect(f"ws://{client.host}/", open_timeout=TIMEOUT_SECONDS, max_size=None)
        self.pid = int(self.receive())

    def receive(self):
        return self.connection.recv(TIMEOUT_SECONDS)


def members_of(client, count):
    """One member of each worker."""
    found = {}

    def all_found():
        member = Member(client)
        found.setdefault(member.pid, member)
        return len(found) == count

    until(all_found)
    return list(found.values())


def serve_two(serving, *arguments):
    running = serving("-w", "2", *arguments)
    client = running.client()
    running.wait_for(r"worker \d+ serves", count=2)
    return running, client


def figures(client):
    answer = client.get("/metrics")
    assert (answer.status, answer.headers["content-type"].split(";")[0]) == (200, "application/openmetrics-text")
    assert answer.text.endswith("# EOF\n")
    return answer.text


def test_what_is_published_reaches_the_sockets_of_all_workers_in_order(serving):
    _, client = serve_two(serving)
    members = members_of(client, 2)
    messages = ["täyet", "", b"\x00\xff", "x" * 1_000_000, *map(str, range(500))]
    for message in messages:
        members[0].connection.send(message)
    for member in members:
        assert [member.receive() for _ in messages] == messages
    assert client.post("/publish", b"from a request").status == 200
    assert [member.receive() for member in members] == [b"from a request"] * 2


def test_what_is_too_large_for_other_workers_is_told(serving):
    running, client = serve_two(serving)
    members_of(client, 2)
    assert client.post("/publish", b"x" * 5_000_000).status == 500
    running.wait_for("ValueError: more than 4194304 bytes cannot be published to other workers")
    assert client.get().status == 200


def test_workers_that_come_and_go_are_reached(serving):
    running, client = serve_two(serving)
    first, second = members_of(client, 2)
    os.kill(second.pid, signal.SIGKILL)
    running.wait_for(r"worker \d+ serves", count=3)
    first, successor = sorted(members_of(client, 2), key=lambda member: member.pid != first.pid)
    assert successor.pid != second.pid
    first.connection.send("still there")
    assert first.receive() == successor.receive() == "still there"


def test_a_reload_says_1001_and_the_new_workers_take_over(serving):
    running, client = serve_two(serving)
    old = members_of(client, 2)
    running.signal(signal.SIGHUP)
    for member in old:
        with pytest.raises(ConnectionClosed) as closed:
            member.receive()
        assert closed.value.rcvd.code == 1001
    running.wait_for(r"worker \d+ has ended", count=2)
    new = members_of(client, 2)
    assert not {member.pid for member in new} & {member.pid for member in old}
    new[0].connection.send("hello")
    assert new[0].receive() == new[1].receive() == "hello"
    assert running.stop() == 0


def test_a_stop_says_1001(serving):
    running, client = serve_two(serving)
    members = members_of(client, 2)
    running.signal(signal.SIGTERM)
    for member in members:
        with pytest.raises(ConnectionClosed) as closed:
            member.receive()
        assert closed.value.rcvd.code == 1001
    assert running.stop() == 0


def test_the_metrics_port_has_the_figures_of_every_worker(two_with_metrics):
    running, client, metrics = two_with_metrics
    members_of(client, 2)
    answered = 30
    for _ in range(answered):
        assert client.get().status == 200
    text = figures(metrics)
    counts = re.findall(r'^tayet_requests_total\{worker="(\d)",.*status="200"\} (\d+)$', text, re.MULTILINE)
    assert sum(int(count) for _, count in counts) == answered
    assert re.findall(r"^tayet_workers (\d)$", text, re.MULTILINE) == ["2"]
    for name in ("tayet_threads_busy", "tayet_queue_length", "tayet_queue_wait_seconds_count", "tayet_websocket_threads", "tayet_sessions_open"):
        assert re.findall(rf'^{name}\{{worker="(\d)"\}} \d+$', text, re.MULTILINE) == ["0", "1"], name
    assert text.count("# TYPE tayet_threads_busy gauge\n") == 1
    assert metrics.get("/other").status == metrics.get("/metrics", method="DELETE").status == 404
    assert running.stop() == 0


def test_the_metrics_port_answers_while_a_worker_does_not(two_with_metrics):
    _, client, metrics = two_with_metrics
    stopped, _ = members_of(client, 2)
    os.kill(stopped.pid, signal.SIGSTOP)
    try:
        assert len(set(re.findall(r'worker="(\d)"', figures(metrics)))) == 1
    finally:
        os.kill(stopped.pid, signal.SIGCONT)
    until(lambda: len(set(re.findall(r'worker="(\d)"', figures(metrics)))) == 2)


def test_idle_readers_of_the_metrics_port_are_let_go_and_hold_up_nobody(serving):
    running = serving("--metrics", "127.0.0.1:0")
    client = running.client()
    running.wait_for(r"worker \d+ serves")
    metrics = Client(running.wait_for(r"figures are at http://(\S+)/metrics"))
    idle = [metrics.connect() for _ in range(15)]
    idle[0].sendall(b"GET /metr")
    idle[1].sendall(b"x" * 10_000)
    # What is left unread of too much makes it a reset.
    with contextlib.suppress(ConnectionResetError):
        assert idle[1].recv(1) == b""
    assert 'tayet_threads{worker="0"}' in figures(metrics)
    running.signal(signal.SIGHUP)
    running.wait_for(r"worker \d+ has ended")
    assert client.get().status == 200 and 'tayet_threads{worker="0"}' in figures(metrics)
    for connection in idle:
        connection.close()


def test_the_metrics_port_may_be_a_unix_socket(serving, directory):
    path = directory / "metrics.sock"
    running = serving("--metrics", f"unix:{path}")
    running.client()
    running.wait_for(r"worker \d+ serves")
    connection = http.client.HTTPConnection("localhost", timeout=TIMEOUT_SECONDS)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(str(path))
    connection.request("GET", "/metrics")
    assert b'tayet_connections_open{worker="0"} 0\n' in connection.getresponse().read()
    assert running.stop() == 0 and not path.exists()
