"""tus 1.0.0 over real connections: bodies that come slowly, break off, or come twice."""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Callable

import pytest

from arena import Server
from places import Bucket, Directory
from uploads import TUS, append, ask, begin_append, create, offset, stats

Start = Callable[..., Server]
Place = Directory | Bucket


@pytest.fixture
def start(start_tayet, place: Place) -> Start:
    """Starts `tayet uploads` on the test's place."""
    return lambda *flags, **limits: start_tayet(
        "uploads", *place.arguments, "--listen", "127.0.0.1:0", *flags, **limits
    )


def wait_until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.01)


def test_what_came_before_the_connection_broke_is_kept(start: Start, place: Place) -> None:
    server = start()
    location = create(server, 10, Upload_Metadata="filename YS50eHQ=")
    with server.connect() as peer:
        begin_append(peer, location, 0, 10, b"hello")
        wait_until(lambda: stats(server)["received_bytes"] == 5)
    wait_until(lambda: stats(server)["failed"] == 1)
    assert offset(server, location) == 5
    assert place.files() == {}
    assert append(server, location, 5, b"world").status == 204
    assert place.files() == {"a.txt": b"helloworld"}


def test_a_chunked_body_is_taken_as_it_comes(start: Start, place: Place) -> None:
    server = start()
    location = create(server, None)
    with server.connect() as peer:
        begin_append(peer, location, 0, None, b"5\r\nhello\r\n")
        wait_until(lambda: stats(server)["received_bytes"] == 5)
        peer.send(b"5\r\nworld\r\n0\r\n\r\n")
        assert peer.response().get("upload-offset") == "10"
    assert append(server, location, 10, b"", Upload_Length="10").status == 204
    assert list(place.files().values()) == [b"helloworld"]


@pytest.mark.parametrize("algorithm", ["sha1", "sha256", "md5"])
@pytest.mark.parametrize(("sent", "status", "reached"), [(b"hello", 204, 5), (b"hellO", 460, 0)])
def test_a_checksum_in_the_trailers(start: Start, algorithm: str, sent: bytes, status: int, reached: int) -> None:
    server = start()
    location = create(server, 10)
    checksum = base64.b64encode(hashlib.new(algorithm, b"hello").digest()).decode()
    chunks = f"5\r\n{sent.decode()}\r\n0\r\nUpload-Checksum: {algorithm} {checksum}\r\n\r\n".encode()
    with server.connect() as peer:
        begin_append(peer, location, 0, None, chunks, Trailer="Upload-Checksum")
        assert peer.response().status == status
    assert offset(server, location) == reached


def test_unverified_bytes_do_not_count_when_the_connection_breaks(start: Start) -> None:
    server = start()
    location = create(server, 10)
    with server.connect() as peer:
        begin_append(peer, location, 0, 10, b"hello", Upload_Checksum="sha1 qvTGHdzF6KLavt4PO0gs2a6pQ00=")
        wait_until(lambda: stats(server)["received_bytes"] == 5)
    wait_until(lambda: stats(server)["failed"] == 1)
    assert offset(server, location) == 0


def test_a_request_that_died_silently_is_taken_over(start: Start, place: Place) -> None:
    """The first client is still connected and says nothing more; the second does not wait for its time-out."""
    server = start("--takeover-silence-ms", "50", min_receive_rate_bytes_per_second=0)
    location = create(server, 10)
    with server.connect() as silent:
        begin_append(silent, location, 0, 10, b"hello")
        wait_until(lambda: stats(server)["received_bytes"] == 5)
        assert append(server, location, 5, b"world").status == 204
        assert not silent.is_readable(), "nobody had to wait for the end of the first request"
        silent.send(b"WORLD")
        assert silent.response().status == 423
    assert list(place.files().values()) == [b"helloworld"]


def test_a_question_for_the_offset_ends_who_still_writes(start: Start) -> None:
    server = start(min_receive_rate_bytes_per_second=0)
    location = create(server, 10)
    with server.connect() as silent:
        begin_append(silent, location, 0, 10, b"hello")
        wait_until(lambda: stats(server)["received_bytes"] == 5)
        assert offset(server, location) == 5
        silent.send(b"WORLD")
        assert silent.response().status == 423
    assert offset(server, location) == 5, "the answer stays true"


def test_a_question_for_the_offset_forgets_what_is_not_verified(start: Start, place: Place) -> None:
    server = start(min_receive_rate_bytes_per_second=0)
    location = create(server, 10, Upload_Metadata="filename YQ==")
    assert append(server, location, 0, b"he").status == 204
    with server.connect() as silent:
        begin_append(silent, location, 2, 8, b"WRONG", Upload_Checksum="sha1 qvTGHdzF6KLavt4PO0gs2a6pQ00=")
        wait_until(lambda: stats(server)["received_bytes"] == 7)
        assert offset(server, location) == 2
        assert append(server, location, 2, b"lloworld").status == 204
    assert place.files() == {"a": b"helloworld"}


def test_a_request_that_is_alive_is_not_disturbed(start: Start, place: Place) -> None:
    server = start("--takeover-silence-ms", "60000", min_receive_rate_bytes_per_second=0)
    location = create(server, 10)
    with server.connect() as writing:
        begin_append(writing, location, 0, 10, b"hello")
        wait_until(lambda: stats(server)["received_bytes"] == 5)
        refused = append(server, location, 5, b"WORLD")
        assert (refused.status, refused.get("retry-after")) == (423, "1")
        writing.send(b"world")
        assert writing.response().status == 204
    assert list(place.files().values()) == [b"helloworld"]


def test_an_upload_outlives_the_server(start: Start, place: Place) -> None:
    server = start()
    location = create(server, 10, Upload_Metadata="filename YS50eHQ=")
    assert append(server, location, 0, b"hello").status == 204
    server.stop()
    server = start()
    assert offset(server, location) == 5
    assert append(server, location, 5, b"world").status == 204
    server.stop()
    server = start()
    assert offset(server, location) == 10
    [listed] = stats(server)["finished"]
    assert listed["name"].endswith("a.txt")
    if isinstance(place, Directory):
        assert listed["sha256"] == hashlib.sha256(b"helloworld").hexdigest()


def test_what_nobody_comes_back_for_expires(start: Start, place: Place) -> None:
    server = start("--lifetime-seconds", "1", "--sweep-interval-seconds", "1")
    # With its first bytes: a request of its own for them might come too late.
    location = create(server, 10, b"hello")
    finished = create(server, 0, Upload_Metadata="filename a2VwdA==")
    wait_until(lambda: stats(server)["expired"] == 1)
    assert ask(server, "HEAD", location, **TUS).status == 410
    assert append(server, location, 5, b"world").status == 410
    assert offset(server, finished) == 0
    assert place.files() == {"kept": b""}
    assert place.unfinished_bytes() == []


def test_a_client_has_so_many_uploads_at_once(start: Start) -> None:
    server = start("--max-client-uploads", "1", min_receive_rate_bytes_per_second=0)
    first, second = create(server, 10), create(server, 5)
    with server.connect() as peer:
        begin_append(peer, first, 0, 10, b"hello")
        wait_until(lambda: stats(server)["active"] == 1)
        refused = append(server, second, 0, b"hello")
        assert (refused.status, refused.get("retry-after")) == (429, "1")
        peer.send(b"world")
        assert peer.response().status == 204
    assert append(server, second, 0, b"hello").status == 204


def test_all_uploads_together_have_a_limit(start: Start) -> None:
    server = start("--max-stored-bytes", "12")
    location = create(server, 10)
    assert append(server, location, 0, b"helloworld").status == 204
    assert ask(server, "POST", "/files", b"", **TUS, Upload_Length="3").status == 507
    deferred = create(server, None)
    assert append(server, deferred, 0, b"abc").status == 507
    assert append(server, deferred, 0, b"ab").status == 204
    assert ask(server, "DELETE", location, **TUS).status == 204
    assert append(server, deferred, 2, b"c").status == 204


def test_a_limit_on_one_upload(start: Start) -> None:
    server = start("--max-upload-bytes", "5")
    assert ask(server, "POST", "/files", b"", **TUS, Upload_Length="6").status == 413
    deferred = create(server, None)
    assert append(server, deferred, 0, b"123456").status == 413
    assert append(server, deferred, 0, b"12345").status == 204


def test_a_client_that_waits_for_a_100_is_refused_before_it_sends(start: Start) -> None:
    server = start()
    location = create(server, 5)
    with server.connect() as peer:
        begin_append(peer, location, 3, 2, b"", Expect="100-continue")
        assert peer.response().status == 409


def test_figures_for_prometheus(start: Start) -> None:
    server = start()
    append(server, create(server, 5), 0, b"hello")
    metrics = server.metrics()
    assert metrics["uploads_created_total"] == metrics["uploads_completed_total"] == 1
    assert metrics["uploads_received_bytes_total"] == metrics["uploads_stored_bytes"] == 5


def test_many_uploads_at_once_take_little_memory(start: Start, place: Place) -> None:
    """All of them have sent a part, more than fits into any buffer, when the memory is looked at."""
    count, part = 256, bytes(512 * 1024)
    server = start("--fsync", "never", min_receive_rate_bytes_per_second=0)
    idle_kib = server.memory_kib("VmRSS")
    peers = [server.connect() for _ in range(count)]
    try:
        for peer in peers:
            begin_append(peer, create(server, 2 * len(part)), 0, 2 * len(part), part)
        wait_until(lambda: stats(server)["received_bytes"] == count * len(part))
        assert stats(server)["active"] == count
        for peer in peers:
            peer.send(part)
        for peer in peers:
            assert peer.response().status == 204
    finally:
        for peer in peers:
            peer.close()
    # Each connection to a bucket has buffers, too, and its thread a deep stack where nothing is optimized.
    limit_mib = 64 if isinstance(place, Directory) else 96
    assert server.memory_kib("VmHWM") - idle_kib < limit_mib * 1024
    assert stats(server)["completed"] == count
