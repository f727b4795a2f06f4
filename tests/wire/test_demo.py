"""The `tayet` program as the README starts it: the demonstration."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from pathlib import Path

from arena import TAYET, Server, environment


def test_the_first_page_is_a_page(start_tayet) -> None:
    server: Server = start_tayet("--listen", "127.0.0.1:0")
    with server.connect() as peer:
        peer.request("GET", "/")
        response = peer.response()
    assert response.status == 200
    assert response.get("content-type") == "text/html; charset=utf-8"
    page = response.body.decode()
    assert page.lower().startswith("<!doctype html>") and "Tayet" in page


def test_everything_that_the_page_names_is_there(start_tayet) -> None:
    """Links, scripts, styles and pictures: a visitor's browser must find each."""
    server: Server = start_tayet("--listen", "127.0.0.1:0")
    targets = set(re.findall(r'(?:href|src)="(/[^"#]*)', server.get("/").decode()))
    assert targets
    for target in targets:
        with server.connect() as peer:
            peer.request("GET", target)
            assert peer.response().status == 200, target


def test_the_slow_endpoint_does_not_delay_the_fast_one(start_tayet) -> None:
    server: Server = start_tayet("--listen", "127.0.0.1:0")
    with server.connect() as slow:
        slow.request("GET", "/api/slow")
        for _ in range(5):
            json.loads(server.get("/api/fast"))
        assert not slow.is_readable(), "the slow answer came before the fast ones"
        json.loads(slow.response().body)


def test_the_json_api_keeps_orders(start_tayet) -> None:
    server: Server = start_tayet("--listen", "127.0.0.1:0")
    with server.connect() as peer:
        order = json.dumps({"cloth": "linen", "metres": 3}).encode()
        peer.request("POST", "/api/orders", order, Content_Type="application/json")
        placed = peer.response()
        assert placed.status == 201
        peer.request("GET", placed.get("location"))
        assert json.loads(peer.response().body)["cloth"] == "linen"
        peer.request("POST", "/api/orders", b'{"cloth": 5}', Content_Type="application/json")
        rejected = peer.response()
        assert rejected.status in (400, 422) and b"cloth" in rejected.body, "a rejection says where"


def test_health_and_metrics(start_tayet) -> None:
    server: Server = start_tayet("--listen", "127.0.0.1:0")
    assert server.get("/healthz") == server.get("/readyz") == b"ok"
    assert b"tayet_requests_total" in server.get("/metrics")


def test_settings_come_from_file_environment_and_flags_in_this_order(start_tayet, tmp_path: Path) -> None:
    file = tmp_path / "tayet.toml"
    file.write_text("listen = ['127.0.0.1:1']\nmax_headers = 5\nmax_body_bytes = 100\n")
    server: Server = start_tayet("--config", str(file), "--listen", "127.0.0.1:0", max_headers=3)
    with server.connect() as peer:
        peer.request("GET", "/api/fast", X_A="1", X_B="1", X_C="1")
        assert peer.response().status == 431, "the environment prevails over the file"
    with server.connect() as peer:
        peer.request("POST", "/api/orders", bytes(101), Content_Type="application/json")
        assert peer.response().status == 413, "the file prevails over the default"


def test_an_address_that_is_taken_is_explained(start_tayet) -> None:
    server: Server = start_tayet("--listen", "127.0.0.1:0")
    result = run_to_its_end("--listen", f"127.0.0.1:{server.port}")
    assert result.returncode == 1
    assert str(server.port) in result.stderr and "--listen" in result.stderr


def test_a_setting_that_is_wrong_is_named(tmp_path: Path) -> None:
    file = tmp_path / "tayet.toml"
    file.write_text("head_timeout = 5\n")
    result = run_to_its_end("--config", str(file))
    assert result.returncode == 1
    assert "head_timeout_ms" in result.stderr and str(file) in result.stderr


def test_help_and_version() -> None:
    for flag in ("--help", "--version"):
        result = run_to_its_end(flag)
        assert result.returncode == 0 and "tayet" in result.stdout.lower()


def test_it_ends_well(start_tayet) -> None:
    server: Server = start_tayet("--listen", "127.0.0.1:0")
    server.get("/api/fast")
    server.signal(signal.SIGINT)
    assert server.wait() == 0


def run_to_its_end(*flags: str) -> subprocess.CompletedProcess[str]:
    """The program, expected to end by itself."""
    return subprocess.run(
        [TAYET, *flags], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20, env=environment({})
    )
