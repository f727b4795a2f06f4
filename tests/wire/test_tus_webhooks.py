"""The webhooks of `tayet uploads`, against a program that really listens."""

from __future__ import annotations

import hashlib
import hmac
import json
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from arena import TAYET, Server
from uploads import TUS, append, ask, begin_append, create, files, stats

SECRET = "two hundred warp threads"
TIMEOUT_S = 20
Answer = Callable[[dict], tuple[int, str]]
Start = Callable[..., Server]


def accept(_: dict) -> tuple[int, str]:
    return 204, ""


class Receiver:
    """Listens, checks each event's signature, keeps it, and answers what it is told to."""

    def __init__(self, port: int = 0, answer: Answer = accept) -> None:
        self.events: queue.Queue[dict] = queue.Queue()
        self.answer = answer
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                event = json.loads(body) | {"signed": is_signed(self.headers["Tayet-Signature"], body)}
                receiver.events.put(event)
                status, text = receiver.answer(event)
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def expect(self, kind: str) -> dict:
        """The next event that is not of progress (or is, if that is asked for), which must be this one."""
        while (event := self.events.get(timeout=TIMEOUT_S))["type"] != kind:
            assert event["type"] == "progress", event
        assert event["signed"], event
        return event

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def is_signed(field: str, body: bytes) -> bool:
    sent, digits = field.removeprefix("t=").split(",v1=")
    expected = hmac.new(SECRET.encode(), f"{sent}.".encode() + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(digits, expected) and abs(time.time() - int(sent)) < 60


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.stop()


@pytest.fixture
def start(start_tayet, tmp_path: Path) -> Start:
    """Starts `tayet uploads` with a webhook to this receiver."""
    secret = tmp_path / "secret"
    secret.write_text(SECRET + "\n")

    def start(receiver: Receiver, *flags: str) -> Server:
        hook = ("--webhook", f"http://127.0.0.1:{receiver.port}/hook", "--webhook-secret-file", str(secret))
        return start_tayet("uploads", str(tmp_path / "files"), "--listen", "127.0.0.1:0", *hook, *flags)

    return start


def test_an_upload_is_told_of_from_its_beginning_to_its_end(receiver: Receiver, start: Start) -> None:
    server = start(receiver)
    location = create(server, 3 << 20, Upload_Metadata="filename bG9vbS5qcGc=")
    told = receiver.expect("create")
    assert told["request"] | {"remote": ""} == {"method": "POST", "path": "/files", "remote": ""}
    upload = told["upload"]
    assert (upload["length"], upload["file_name"]) == (3 << 20, "loom.jpg") and upload["id"] in location
    assert append(server, location, 0, bytes(2 << 20)).status == 204
    progress = receiver.expect("progress")
    assert 1 << 20 <= progress["received_bytes"] <= 2 << 20 and progress["upload"] == upload
    assert append(server, location, 2 << 20, bytes(1 << 20)).status == 204
    complete = receiver.expect("complete")
    assert complete["upload"] == upload and complete["finished"]["name"] == "loom.jpg"
    assert complete["finished"]["sha256"] == hashlib.sha256(bytes(3 << 20)).hexdigest()
    assert ask(server, "DELETE", location, **TUS).status == 204
    assert receiver.expect("terminate")["upload_id"] == upload["id"]
    while stats(server)["webhooks_delivered"] < 3:
        time.sleep(0.01)
    assert server.metrics()["uploads_webhooks_lost_total"] == 0


@pytest.mark.parametrize(
    ("status", "text", "detail"),
    [(403, "no looms today", "no looms today"), (422, '{"detail": "what is that?"}', "what is that?")],
)
def test_a_refusal_is_the_clients_answer(
    receiver: Receiver, start: Start, tmp_path: Path, status: int, text: str, detail: str
) -> None:
    server = start(receiver)
    receiver.answer = lambda event: (status, text)
    for refused in (
        ask(server, "POST", "/files", b"", **TUS, Upload_Length="10"),
        ask(server, "PUT", "/files/a.txt", b"hello"),
        ask(server, "POST", "/files", b"hello", Upload_Draft_Interop_Version="8", Upload_Complete="?1"),
    ):
        assert (refused.status, json.loads(refused.body)["detail"]) == (status, detail)
    assert files(tmp_path / "files") == {} and stats(server)["total"] == 0


def test_a_receiver_that_fails_or_is_slow_or_down_is_a_503(receiver: Receiver, start: Start) -> None:
    server = start(receiver, "--webhook-create-timeout-ms", "200")
    answered = threading.Event()
    for answer in (lambda event: (500, "oh"), lambda event: (302, ""), lambda event: (answered.wait(TIMEOUT_S), (204, ""))[1]):
        receiver.answer = answer
        assert ask(server, "POST", "/files", b"", **TUS, Upload_Length="10").status == 503
    answered.set()
    receiver.stop()
    assert ask(server, "POST", "/files", b"", **TUS, Upload_Length="10").status == 503
    assert stats(server)["total"] == 0


def test_what_is_complete_is_told_once_the_receiver_is_back(start: Start) -> None:
    receiver = Receiver()
    server = start(receiver)
    location = create(server, 5)
    receiver.stop()
    assert append(server, location, 0, b"hello").status == 204, "the client does not wait for it"
    first_answer = iter([503])
    again = Receiver(receiver.port, lambda event: (next(first_answer, 204), ""))
    first, second = again.expect("complete"), again.expect("complete")
    assert first == second, "one that was answered with a 503 comes again as it was"
    again.stop()


def test_the_end_of_the_program_waits_for_what_is_to_be_told(receiver: Receiver, start: Start) -> None:
    server = start(receiver)
    location = create(server, 5)
    receiver.expect("create")
    is_ending = threading.Event()
    receiver.answer = lambda event: (is_ending.wait(TIMEOUT_S), (503, ""))[1] if not is_ending.is_set() else (204, "")
    assert append(server, location, 0, b"hello").status == 204
    first = receiver.expect("complete")
    threading.Timer(0.2, is_ending.set).start()
    server.stop()
    assert receiver.expect("complete")["id"] == first["id"]


def test_a_break_off_is_no_completion(receiver: Receiver, start: Start) -> None:
    server = start(receiver)
    location = create(server, 10)
    receiver.expect("create")
    with server.connect() as peer:
        begin_append(peer, location, 0, 10, b"hello")
        while stats(server)["received_bytes"] < 5:
            time.sleep(0.01)
    assert append(server, location, 5, b"world").status == 204
    assert receiver.expect("complete")["finished"]["length"] == 10
    assert receiver.events.empty()


@pytest.mark.parametrize(
    ("url", "secret", "reason"),
    [("https://a/b", SECRET, "http://"), ("http://a/b", "short", "16 bytes"), ("http://a/b", None, "cannot be read")],
)
def test_a_webhook_that_cannot_be_is_said_at_the_start(
    tmp_path: Path, url: str, secret: str | None, reason: str
) -> None:
    file = tmp_path / "secret"
    if secret:
        file.write_text(secret)
    command = [TAYET, "uploads", str(tmp_path), "--listen", "127.0.0.1:0", "--webhook", url]
    ended = subprocess.run([*command, "--webhook-secret-file", file], capture_output=True, text=True, timeout=TIMEOUT_S)
    assert ended.returncode != 0 and reason in ended.stderr
