"""Uploads into a bucket: parts, crashes of either server, and what only a bucket can have go wrong."""

from __future__ import annotations

import base64
import hashlib
import random
import subprocess
import time
from collections.abc import Callable

import pytest

from arena import POLL_INTERVAL_S, TAYET, Server
from places import CREDENTIALS, Bucket
from uploads import TUS, Sending, append, ask, begin_append, create, offset, stats

Start = Callable[..., Server]

SEED = 20261122
MIB = 1024 * 1024
PART_BYTES = 8 * MIB
"""What the store gathers before it sends a part."""
MIN_COPIED_BYTES = 5 * MIB
"""The least that the bucket copies as a part that is not the last."""
KILLS = 20


@pytest.fixture
def start(start_tayet: Start, bucket: Bucket) -> Start:
    """Starts `tayet uploads` on the bucket."""
    return lambda *flags, **limits: start_tayet(
        "uploads", *bucket.arguments, "--listen", "127.0.0.1:0", *flags, **limits
    )


def content(length: int) -> bytes:
    return random.Random(SEED).randbytes(length)


@pytest.mark.parametrize("length", [0, 1, PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 2 * PART_BYTES + 17])
def test_every_length_comes_whole(start: Start, bucket: Bucket, length: int) -> None:
    server = start()
    location = create(server, length, Upload_Metadata="filename YQ==")
    if length > 0:
        assert append(server, location, 0, content(length)).status == 204
    assert offset(server, location) == length
    assert bucket.files() == {"a": content(length)}
    assert bucket.unfinished_bytes() == []


def test_appends_need_not_be_parts(start: Start, bucket: Bucket) -> None:
    server, length = start(), 2 * PART_BYTES + 5
    location = create(server, None, Upload_Metadata="filename YQ==")
    ends = [3, PART_BYTES - 1, PART_BYTES + 1, 2 * PART_BYTES, length]
    for begin, end in zip([0, *ends], ends):
        assert append(server, location, begin, content(length)[begin:end]).status == 204
        assert offset(server, location) == end
        assert len(bucket.ends()) == (0 if end % PART_BYTES == 0 else 1)
    assert append(server, location, length, b"", Upload_Length=str(length)).status == 204
    assert bucket.files() == {"a": content(length)}
    assert bucket.unfinished_bytes() == []


def test_two_files_of_one_name_are_two(start: Start, bucket: Bucket) -> None:
    server = start()
    names = set()
    for _ in range(2):
        append(server, create(server, 5, Upload_Metadata="filename YQ=="), 0, b"hello")
        names |= {listed["name"] for listed in stats(server)["finished"]}
    assert len(names) == 2 and all(name.endswith("/a") for name in names)


@pytest.mark.parametrize("lengths", [(MIN_COPIED_BYTES, 3), (4, 3), (3, 0, MIN_COPIED_BYTES), (0,)])
def test_parts_are_joined_whatever_their_lengths(start: Start, bucket: Bucket, lengths: tuple[int, ...]) -> None:
    server, begin, parts = start(), 0, []
    for length in lengths:
        location = create(server, length, Upload_Concat="partial")
        if length > 0:
            assert append(server, location, 0, content(sum(lengths))[begin : begin + length]).status == 204
        begin += length
        parts.append(location)
    assert bucket.files() == {}, "parts are no files"
    concat = f"final;{' '.join(parts)}"
    joined = ask(server, "POST", "/files", b"", **TUS, Upload_Concat=concat, Upload_Metadata="filename YQ==")
    assert joined.status == 201
    assert bucket.files() == {"a": content(sum(lengths))}
    assert bucket.sent_parts() == []


@pytest.mark.parametrize("again", [PART_BYTES // 2, 2 * PART_BYTES])
def test_parts_with_a_wrong_checksum_are_written_over(start: Start, bucket: Bucket, again: int) -> None:
    """Parts that the bucket has cannot be taken back; they never count, not even after a crash."""
    server, length, before = start(), 3 * PART_BYTES + 5, 100
    location = create(server, length, Upload_Metadata="filename YQ==")
    assert append(server, location, 0, content(length)[:before]).status == 204
    wrong = base64.b64encode(hashlib.sha1(b"something else").digest()).decode()
    refused = append(server, location, before, bytes(2 * PART_BYTES), Upload_Checksum=f"sha1 {wrong}")
    assert refused.status == 460
    assert len(bucket.sent_parts()) == 2
    for end in [before, before + again]:
        server.kill()
        server.has_ended = True
        server = start()
        reached = offset(server, location)
        assert reached == end
        if end == before:
            assert append(server, location, before, content(length)[before : before + again]).status == 204
    assert append(server, location, reached, content(length)[reached:]).status == 204
    assert bucket.files() == {"a": content(length)}


def test_a_right_checksum_over_several_parts_counts(start: Start, bucket: Bucket) -> None:
    server, length, before = start(), 2 * PART_BYTES + 5, 100
    location = create(server, length, Upload_Metadata="filename YQ==")
    assert append(server, location, 0, content(length)[:before]).status == 204
    right = base64.b64encode(hashlib.sha1(content(length)[before:-1]).digest()).decode()
    checked = append(server, location, before, content(length)[before:-1], Upload_Checksum=f"sha1 {right}")
    assert checked.status == 204
    assert offset(server, location) == length - 1
    assert len(bucket.ends()) == 1
    assert append(server, location, length - 1, content(length)[-1:]).status == 204
    assert bucket.files() == {"a": content(length)}


@pytest.mark.parametrize("is_finished", [False, True])
def test_what_is_removed_leaves_no_bytes(start: Start, bucket: Bucket, is_finished: bool) -> None:
    server, length = start(), PART_BYTES + 5
    location = create(server, length + (0 if is_finished else 1))
    assert append(server, location, 0, content(length)).status == 204
    assert ask(server, "DELETE", location, **TUS).status == 204
    assert ask(server, "HEAD", location, **TUS).status == 410
    assert bucket.files() == {} and bucket.unfinished_bytes() == []


def test_killed_at_any_moment_it_goes_on_at_a_true_offset(bucket: Bucket) -> None:
    """An upload ends complete and as it was sent, however often the server is killed on the way.

    Only the last request goes in peace: this bucket, unlike Amazon's, completes a multipart upload by halves when nobody
    waits for the answer.
    """
    chance, length = random.Random(SEED), 3 * PART_BYTES + 5
    sent, location, kept = content(length), None, 0
    for is_last in [*[False] * KILLS, True]:
        server = Server(TAYET, "uploads", *bucket.arguments, "--listen", "127.0.0.1:0")
        try:
            location = location or create(server, length, Upload_Metadata="filename YQ==")
            reached = offset(server, location)
            assert reached >= kept, "what the bucket has once, it has"
            assert reached % PART_BYTES == 0 or reached == length - 1, "what was under way counts in whole parts"
            kept = reached
            if is_last:
                assert append(server, location, reached, sent[reached:]).status == 204
            elif reached < length - 1:
                Sending(server, location, reached, sent[reached : length - 1])
                enough = chance.randint(1, length - 1 - reached)
                while stats(server)["received_bytes"] < enough:
                    time.sleep(POLL_INTERVAL_S)
        finally:
            server.kill()
    assert bucket.files() == {"a": sent}
    assert bucket.unfinished_bytes() == []


def test_an_end_of_which_only_the_bytes_are_left_counts(start: Start, bucket: Bucket) -> None:
    server, length, before = start(), 2 * PART_BYTES + 5, PART_BYTES + 7
    location = create(server, length, Upload_Metadata="filename YQ==")
    assert append(server, location, 0, content(length)[:before]).status == 204
    server.kill()
    server.has_ended = True
    [end] = bucket.ends()
    bucket.lose_metadata(end)
    server = start()
    assert offset(server, location) == before
    assert append(server, location, before, content(length)[before:]).status == 204
    assert bucket.files() == {"a": content(length)}
    assert bucket.unfinished_bytes() == []


def test_an_end_that_outlives_its_part_does_not_count_and_is_removed(start: Start, bucket: Bucket) -> None:
    """A crash may come between a part and the removal of what there was of it."""
    server, length, before = start(), 2 * PART_BYTES + 5, PART_BYTES + 7
    location = create(server, length, Upload_Metadata="filename YQ==")
    assert append(server, location, 0, content(length)[:3]).status == 204
    [outlived] = bucket.ends()
    assert append(server, location, 3, content(length)[3:before]).status == 204
    [end] = bucket.ends()
    assert end != outlived
    server.kill()
    server.has_ended = True
    outlived.write_bytes(content(length)[:3])
    server = start()
    assert offset(server, location) == before
    assert append(server, location, before, content(length)[before:]).status == 204
    assert bucket.files() == {"a": content(length)}
    assert bucket.unfinished_bytes() == []


def test_a_bucket_that_goes_away_is_said_and_the_upload_goes_on(start: Start, bucket: Bucket) -> None:
    server, length, before = start(), 2 * PART_BYTES + 5, PART_BYTES + 7
    location = create(server, length, Upload_Metadata="filename YQ==")
    assert append(server, location, 0, content(length)[:before]).status == 204
    with server.connect() as peer:
        half = before + PART_BYTES // 2
        begin_append(peer, location, before, length - before, content(length)[before:half])
        while stats(server)["received_bytes"] < half:
            time.sleep(POLL_INTERVAL_S)
        bucket.kill()
        peer.send(content(length)[half:])
        refused = peer.response()
    assert (refused.status, refused.get("retry-after")) == (503, "5")
    assert ask(server, "POST", "/files", b"", **TUS, Upload_Length="5").status == 503
    bucket.start()
    assert offset(server, location) == before
    assert append(server, location, before, content(length)[before:]).status == 204
    assert bucket.files() == {"a": content(length)}


def test_ranges_are_refused_and_not_announced(start: Start) -> None:
    server = start()
    announced = ask(server, "OPTIONS", "/files", **TUS).get("tus-extension").split(",")
    assert {"checksum", "checksum-trailer", "concatenation", "expiration", "termination"} <= set(announced)
    assert ask(server, "PATCH", "/files", b"ab", Content_Range="bytes 0-1/5").status == 501


def test_a_bucket_that_cannot_be_used_is_said_at_the_start(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = [TAYET, "uploads", *bucket.arguments, "--listen", "127.0.0.1:0"]
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another secret")
    ended = subprocess.run(arguments, capture_output=True, text=True, timeout=20)
    assert ended.returncode != 0 and "SignatureDoesNotMatch" in ended.stderr
    assert not any(secret in ended.stderr for secret in [*CREDENTIALS.values(), "another secret"])
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    ended = subprocess.run(arguments, capture_output=True, text=True, timeout=20)
    assert ended.returncode != 0 and "AWS_SECRET_ACCESS_KEY" in ended.stderr
