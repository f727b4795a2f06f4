"""What a server shows of itself: metrics, health, access log."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from arena import Server, lines_of
from peer import request

REQUESTS = 200


def test_metrics_count_requests_by_route_and_status(start_arena) -> None:
    server: Server = start_arena()
    with server.connect() as peer:
        for target in ("/", "/", "/json/3?m=1", "/json/4?m=1", "/json/x?m=1", "/no-such-page", "/panic"):
            peer.request("GET", target)
            if peer.response().closes:
                peer.expect_close()
    figures = server.metrics()
    assert figures['tayet_requests_total{route="GET /",status="200"}'] == 2
    assert figures['tayet_requests_total{route="GET /json/{count}",status="200"}'] == 2
    assert figures['tayet_requests_total{route="GET /json/{count}",status="400"}'] == 1
    assert figures['tayet_requests_total{route="fallback",status="404"}'] == 1
    assert figures['tayet_requests_total{route="GET /panic",status="500"}'] == 1
    assert figures["tayet_panics_total"] == 1
    assert figures['tayet_request_duration_seconds_count{route="GET /"}'] == 2
    assert figures['tayet_request_duration_seconds_bucket{le="+Inf",route="GET /"}'] == 2


def test_metrics_count_connections_and_bytes(start_arena) -> None:
    server: Server = start_arena()
    with server.connect() as idle:
        idle.request("POST", "/echo", bytes(100_000))
        assert len(idle.response().body) == 100_000
        figures = server.metrics()
    assert figures["tayet_connections_open"] == 2, "the idle one and the one that asks"
    assert figures["tayet_connections_accepted_total"] == 2
    assert figures["tayet_received_bytes_total"] > 100_000
    server.wait_for_more("tayet_sent_bytes_total", 100_000)


def test_metrics_count_what_is_refused_and_what_is_cut(start_arena) -> None:
    server: Server = start_arena(head_timeout_ms=100)
    for message, status in ((b"GET / HTTP/1.1\r\n\r\n", 400), (b"GET / HT", 408)):
        with server.connect() as peer:
            peer.send(message)
            assert peer.response().status == status
    figures = server.metrics()
    assert figures["tayet_requests_refused_total"] == 2
    assert figures["tayet_connections_timed_out_total"] == 1


def test_a_route_that_sleeps_is_found_out(start_arena) -> None:
    server: Server = start_arena("--loops", "1")
    for _ in range(5):
        assert server.get("/sleep/100") == b"ok"
        assert server.get("/") == b"Hello, World!"
    figures = server.metrics()
    assert figures["tayet_takeovers_total"] >= 1
    assert figures['tayet_route_dispatched{route="GET /sleep/{ms}"}'] == 1
    assert figures['tayet_route_dispatched{route="GET /"}'] == 0


def test_health(arena: Server) -> None:
    assert arena.get("/healthz") == b"ok"
    assert arena.get("/readyz") == b"ok"


@pytest.mark.parametrize("access_log", ["common", "combined"])
def test_the_access_log_in_the_formats_of_old(start_arena, tmp_path: Path, access_log: str) -> None:
    log = tmp_path / "access.log"
    server: Server = start_arena(access_log=access_log, access_log_file=log)
    with server.connect() as peer:
        peer.request("GET", "/json/1?m=2", Referer="http://arena.test/", User_Agent='a "quoted" agent')
        length = len(peer.response().body)
    date = r"\[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d \+0000\]"
    line = rf'127\.0\.0\.1 - - {date} "GET /json/1\?m=2 HTTP/1\.1" 200 {length}'
    if access_log == "combined":
        line += r' "http://arena\.test/" "a (\\"|\\x22)quoted(\\"|\\x22) agent"'
    [written] = lines_of(log, 1)
    assert re.fullmatch(line, written)


def test_the_access_log_in_json(start_arena, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    server: Server = start_arena(access_log="json", access_log_file=log)
    server.get("/pipeline")
    [written] = lines_of(log, 1)
    entry = json.loads(written)
    assert entry["method"] == "GET" and entry["status"] == 200, entry


def test_the_access_log_has_every_request_when_the_server_has_ended(start_arena, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    server: Server = start_arena(access_log="common", access_log_file=log)
    with server.connect() as peer:
        peer.send(b"".join(request("GET", f"/baseline11?a={index}&b=0") for index in range(REQUESTS)))
        assert len(peer.responses(REQUESTS)) == REQUESTS
    server.stop()
    numbers = [int(re.search(r"a=(\d+)", line)[1]) for line in log.read_text().splitlines()]
    assert numbers == list(range(REQUESTS))

