"""The other ways in: the IETF's draft, ranges, forms and files that are put."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from arena import Server
from peer import Peer
from uploads import TUS, ask, begin, files, stats

VERSIONS = ["3", "5", "6", "8"]


@pytest.fixture
def server(start_tayet: Callable[..., Server], tmp_path: Path) -> Server:
    return start_tayet("uploads", str(tmp_path / "files"), "--listen", "127.0.0.1:0", "--max-upload-bytes", "1000")


def ietf(version: str, *, is_last: bool | None = None, **fields: str) -> dict[str, str]:
    """The fields of a client of this interop version."""
    said = {"Upload_Draft_Interop_Version": version, **fields}
    if is_last is not None and version == "3":
        said["Upload_Incomplete"] = "?0" if is_last else "?1"
    elif is_last is not None:
        said["Upload_Complete"] = "?1" if is_last else "?0"
    if version >= "6" and "Upload_Offset" in fields:
        said["Content_Type"] = "application/partial-upload"
    return said


def is_complete(version: str, response) -> bool:
    if version == "3":
        return {"?0": True, "?1": False}[response.get("upload-incomplete")]
    return {"?1": True, "?0": False}[response.get("upload-complete")]


@pytest.mark.parametrize("version", VERSIONS)
def test_ietf_one_request_has_it_all(server: Server, tmp_path: Path, version: str) -> None:
    fields = ietf(version, is_last=True, Content_Disposition='inline; filename="a.txt"')
    created = ask(server, "POST", "/files", b"hello", **fields)
    assert created.status == 201 and is_complete(version, created), created
    assert created.get("upload-draft-interop-version") == version
    assert files(tmp_path / "files") == {"a.txt": b"hello"}
    head = ask(server, "HEAD", created.get("location"), **ietf(version))
    assert head.status == 204 and is_complete(version, head)
    assert (head.get("upload-offset"), head.get("cache-control")) == ("5", "no-store")


@pytest.mark.parametrize("version", VERSIONS)
def test_ietf_parts_follow_each_other(server: Server, tmp_path: Path, version: str) -> None:
    created = ask(server, "PUT", "/files/a.txt", b"hel", **ietf(version, is_last=False))
    location = created.get("location")
    assert created.status == 201 and not is_complete(version, created)
    appended = ask(server, "PATCH", location, b"lo", **ietf(version, is_last=False, Upload_Offset="3"))
    assert appended.status == 204 and not is_complete(version, appended)
    assert appended.get("upload-offset") == "5"
    head = ask(server, "HEAD", location, **ietf(version))
    assert head.get("upload-offset") == "5" and not is_complete(version, head)
    assert files(tmp_path / "files") == {}
    last = ask(server, "PATCH", location, b"world", **ietf(version, is_last=True, Upload_Offset="5"))
    assert last.status == 200 and is_complete(version, last)
    assert files(tmp_path / "files") == {"a.txt": b"helloworld"}


@pytest.mark.parametrize("version", VERSIONS)
def test_ietf_an_empty_request_completes(server: Server, tmp_path: Path, version: str) -> None:
    location = ask(server, "POST", "/files", b"hello", **ietf(version, is_last=False)).get("location")
    last = ask(server, "PATCH", location, b"", **ietf(version, is_last=True, Upload_Offset="5"))
    assert last.status == 200 and is_complete(version, last)
    assert list(files(tmp_path / "files").values()) == [b"hello"]


@pytest.mark.parametrize("version", VERSIONS)
def test_ietf_another_offset_is_a_409_that_says_the_right_one(server: Server, version: str) -> None:
    location = ask(server, "POST", "/files", b"hello", **ietf(version, is_last=False)).get("location")
    refused = ask(server, "PATCH", location, b"x", **ietf(version, is_last=False, Upload_Offset="4"))
    assert (refused.status, refused.get("upload-offset")) == (409, "5")
    problem = json.loads(refused.body)
    assert problem["type"].endswith("#mismatching-upload-offset") and problem["expected-offset"] == 5


@pytest.mark.parametrize("version", VERSIONS)
def test_ietf_cancel(server: Server, version: str) -> None:
    location = ask(server, "POST", "/files", b"hello", **ietf(version, is_last=False)).get("location")
    assert ask(server, "DELETE", location, **ietf(version)).status == 204
    assert ask(server, "HEAD", location, **ietf(version)).status == 410
    assert stats(server)["terminated"] == 1


@pytest.mark.parametrize("version", ["6", "8"])
def test_ietf_limits_and_media_type(server: Server, version: str) -> None:
    options = ask(server, "OPTIONS", "/files", **ietf(version))
    assert (options.status, options.get("accept-patch")) == (204, "application/partial-upload")
    assert "max-size=1000" in options.get("upload-limit")
    too_large = ask(server, "POST", "/files", bytes(1001), **ietf(version, is_last=True))
    assert too_large.status == 413 and "max-size=1000" in too_large.get("upload-limit")
    created = ask(server, "POST", "/files", b"hello", **ietf(version, is_last=False))
    assert "max-age=" in created.get("upload-limit")
    fields = ietf(version, is_last=True, Upload_Offset="5") | {"Content_Type": "text/plain"}
    assert ask(server, "PATCH", created.get("location"), b"x", **fields).status == 415


@pytest.mark.parametrize("version", VERSIONS)
def test_ietf_lengths_that_contradict_each_other(server: Server, version: str) -> None:
    fields = ietf(version, is_last=True, Upload_Length="4")
    assert ask(server, "POST", "/files", b"hello", **fields).status == 400
    fields = ietf(version, is_last=False, Upload_Length="8")
    location = ask(server, "POST", "/files", b"hello", **fields).get("location")
    fields = ietf(version, is_last=True, Upload_Offset="5")
    refused = ask(server, "PATCH", location, b"world", **fields)
    assert refused.status == 400
    assert json.loads(refused.body)["type"].endswith("#inconsistent-upload-length")


@pytest.mark.parametrize("version", VERSIONS)
def test_ietf_a_request_that_breaks_off_is_resumed_where_the_104_says(
    server: Server, tmp_path: Path, version: str
) -> None:
    with server.connect() as peer:
        begin(peer, "POST", "/files", 10, **ietf(version, is_last=True, Content_Disposition="inline; filename=a"))
        told = peer.response()
        assert (told.status, told.get("upload-draft-interop-version")) == (104, version)
        assert (told.get("upload-limit") is not None) == (version >= "6")
        peer.send(b"hello")
        while stats(server)["received_bytes"] < 5:
            time.sleep(0.01)
    location = told.get("location")
    assert ask(server, "HEAD", location, **ietf(version)).get("upload-offset") == "5"
    last = ask(server, "PATCH", location, b"world", **ietf(version, is_last=True, Upload_Offset="5"))
    assert last.status == 200 and is_complete(version, last)
    assert files(tmp_path / "files") == {"a": b"helloworld"}


@pytest.mark.parametrize("version", VERSIONS)
def test_ietf_progress_is_told_while_the_body_comes(server: Server, version: str) -> None:
    """From interop version 6 on; before that the next thing that the client hears is the answer."""
    with server.connect() as peer:
        begin(peer, "POST", "/files", 1000, **ietf(version, is_last=True))
        location = peer.response().get("location")
        sent = 0
        while sent < 30 or (version >= "6" and not peer.is_readable()):
            peer.send(b"x")
            sent += 1
            time.sleep(0.05)
        if version >= "6":
            told = peer.response()
            assert (told.status, told.get("location")) == (104, None)
            assert 0 < int(told.get("upload-offset")) <= sent
        peer.send(b"x" * (1000 - sent))
        while (answer := peer.response()).status == 104:
            assert version >= "6"
        assert (answer.status, answer.get("location")) == (201, location)


@pytest.mark.parametrize("version", ["6", "8"])
def test_ietf_progress_of_an_append(server: Server, version: str) -> None:
    location = ask(server, "POST", "/files", b"hello", **ietf(version, is_last=False)).get("location")
    with server.connect() as peer:
        begin(peer, "PATCH", location, 900, **ietf(version, is_last=True, Upload_Offset="5"))
        while not peer.is_readable():
            peer.send(b"x")
            time.sleep(0.05)
        told = peer.response()
        assert told.status == 104 and int(told.get("upload-offset")) > 5


def test_ietf_nobody_else_is_told_of_resumption(server: Server) -> None:
    for version, fields in [("1.1", {}), ("1.1", {"Upload_Draft_Interop_Version": "4"}), ("1.0", ietf("8", is_last=True))]:
        with server.connect() as peer:
            begin(peer, "PUT", "/files/a", 5, version=version, **fields)
            while stats(server)["active"] == 0:
                time.sleep(0.01)
            peer.send(b"hello")
            assert peer.response().status == 201


def test_ranges_come_in_any_order_and_a_gap_is_never_received(server: Server, tmp_path: Path) -> None:
    first = ask(server, "PUT", "/files", b"world", Content_Range="bytes 5-9/15", Content_Disposition="inline; filename=a")
    location = first.get("location")
    assert (first.status, first.get("range"), first.get("upload-offset")) == (201, "bytes=5-9", "0")
    second = ask(server, "PATCH", location, b"again", Content_Range="bytes 10-14/15")
    assert (second.status, second.get("range"), second.get("upload-complete")) == (202, "bytes=5-14", "?0")
    asked = ask(server, "PUT", location, b"", Content_Range="bytes */15")
    assert (asked.status, asked.get("range"), asked.get("upload-offset")) == (202, "bytes=5-14", "0")
    assert files(tmp_path / "files") == {}
    overlapping = ask(server, "PUT", location, b"hellowo", Content_Range="bytes 0-6/*")
    assert (overlapping.status, overlapping.get("upload-complete")) == (200, "?1")
    assert files(tmp_path / "files") == {"a": b"helloworldagain"}
    assert stats(server)["stored_bytes"] == 15, "what overlaps counts once"
    head = ask(server, "HEAD", location)
    assert (head.status, head.get("range"), head.get("upload-length")) == (200, "bytes=0-14", "15")


def test_ranges_of_a_length_that_is_said_last(server: Server, tmp_path: Path) -> None:
    location = ask(server, "POST", "/files", b"", Content_Range="bytes */*").get("location")
    assert ask(server, "PUT", location, b"world", Content_Range="bytes 5-9/*").status == 202
    assert ask(server, "PUT", location, b"", Content_Range="bytes */8").status == 409, "more has come"
    assert ask(server, "PUT", location, b"hello", Content_Range="bytes 0-4/*").status == 202
    assert ask(server, "PUT", location, b"", Content_Range="bytes */10").status == 200
    assert list(files(tmp_path / "files").values()) == [b"helloworld"]


@pytest.mark.parametrize(
    ("content_range", "body", "status"),
    [
        ("bytes 0-4", b"hello", 400),
        ("bytes 4-0/10", b"hello", 400),
        ("bytes 0-5/10", b"hello", 400),
        ("bytes 8-12/10", b"hello", 400),
        ("bytes 8-12/*", b"hello", 416),
        ("bytes 0-4/11", b"hello", 416),
        ("bytes */10", b"hello", 400),
        ("lines 0-4/10", b"hello", 400),
    ],
)
def test_ranges_that_are_wrong(server: Server, content_range: str, body: bytes, status: int) -> None:
    location = ask(server, "POST", "/files", b"", Content_Range="bytes */10").get("location")
    refused = ask(server, "PUT", location, body, Content_Range=content_range)
    assert refused.status == status
    if status == 416:
        assert refused.get("content-range") == "bytes */10"
    assert ask(server, "HEAD", location).get("range") is None, "nothing of it has come"


def test_a_range_with_a_wrong_checksum_takes_back_what_it_overlaps(server: Server) -> None:
    location = ask(server, "POST", "/files", b"", Content_Range="bytes */10").get("location")
    assert ask(server, "PUT", location, b"hello", Content_Range="bytes 0-4/10").status == 202
    sum_of_hello = "sha1 qvTGHdzF6KLavt4PO0gs2a6pQ00="
    refused = ask(server, "PUT", location, b"hellO", Content_Range="bytes 3-7/10", Upload_Checksum=sum_of_hello)
    assert refused.status == 460
    assert ask(server, "HEAD", location).get("range") == "bytes=0-2"
    assert stats(server)["stored_bytes"] == 3


def test_protocols_do_not_mix_on_one_upload(server: Server) -> None:
    ranges = ask(server, "POST", "/files", b"", Content_Range="bytes */10").get("location")
    fields = {**TUS, "Upload_Offset": "0", "Content_Type": "application/offset+octet-stream"}
    assert ask(server, "PATCH", ranges, b"hello", **fields).status == 403
    sequence = ask(server, "POST", "/files", b"", **TUS, Upload_Length="10").get("location")
    assert ask(server, "PUT", sequence, b"hello", Content_Range="bytes 0-4/10").status == 409


def test_a_file_is_put_by_curl(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "fürs Archiv.txt"
    file.write_bytes(b"hello")
    put = subprocess.run(["curl", "-sf", "-T", file, f"{server.url}/files/"], capture_output=True, check=True)
    stored = json.loads(put.stdout)
    assert (stored["name"], stored["length"]) == ("fürs Archiv.txt", 5)
    assert files(tmp_path / "files") == {"fürs Archiv.txt": b"hello"}


def test_a_form_is_sent_by_curl(server: Server, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"hello")
    (tmp_path / "b.bin").write_bytes(bytes(range(256)))
    form = ["-F", "comment=no file", "-F", f"file=@{tmp_path}/a.txt", "-F", f"file=@{tmp_path}/b.bin"]
    sent = subprocess.run(["curl", "-sf", *form, f"{server.url}/files"], capture_output=True, check=True)
    assert [stored["name"] for stored in json.loads(sent.stdout)] == ["a.txt", "b.bin"]
    assert files(tmp_path / "files") == {"a.txt": b"hello", "b.bin": bytes(range(256))}


def test_a_form_that_breaks_off_leaves_nothing(server: Server, tmp_path: Path) -> None:
    form = b'--x\r\nContent-Disposition: form-data; name="f"; filename="a"\r\n\r\nhello'
    assert ask(server, "POST", "/files", form, Content_Type="multipart/form-data; boundary=x").status == 400
    assert files(tmp_path / "files") == {}
    assert ask(server, "POST", "/files", form, Content_Type="multipart/form-data").status == 400


def test_a_plain_upload_that_is_too_large_leaves_nothing(server: Server, tmp_path: Path) -> None:
    assert ask(server, "PUT", "/files/a", bytes(1001)).status == 413
    form = b'--x\r\nContent-Disposition: form-data; name="f"; filename="a"\r\n\r\n' + bytes(1001) + b"\r\n--x--\r\n"
    refused = ask(server, "POST", "/files", form, Content_Type="multipart/form-data; boundary=x")
    assert refused.status == 413
    assert files(tmp_path / "files") == {}
    assert not list((tmp_path / "files" / ".uploads").glob("*.data"))


def test_a_name_cannot_leave_the_directory(server: Server, tmp_path: Path) -> None:
    stored = ask(server, "PUT", "/files/..%2F..%2Fescaped", b"hello")
    assert json.loads(stored.body)["name"] == "escaped"
    assert files(tmp_path / "files") == {"escaped": b"hello"}
    assert json.loads(ask(server, "PUT", "/files/escaped", b"again").body)["name"] == "escaped (2)"
