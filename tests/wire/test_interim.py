"""Responses before the response: `100 Continue` and what handlers send themselves."""

from __future__ import annotations

import subprocess

import pytest

from arena import Server
from peer import Peer, Response, request

LINK = "</style.css>; rel=preload; as=style"


def expect_hint(response: Response) -> None:
    assert (response.status, response.fields) == (103, [("link", LINK)])


def test_it_comes_before_the_body(peer: Peer) -> None:
    """A body of this size is not gathered before the handler is called."""
    peer.send(b"POST /hinted HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n")
    expect_hint(peer.response())
    peer.send(b"x" * 1_000_000)
    assert peer.response().body == b"1000000"


def test_it_comes_before_the_100(peer: Peer) -> None:
    peer.send(b"POST /hinted HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
    expect_hint(peer.response())
    assert peer.response().status == 100
    peer.send(b"hello")
    assert peer.response().body == b"5"


@pytest.mark.parametrize("target", ["/hinted", "/hinted?slow"])
def test_it_stands_before_its_own_answer(peer: Peer, target: str) -> None:
    """Whether the handler runs on its loop, has lost it, or runs on a worker."""
    for _ in range(20):
        peer.request("GET", target)
        expect_hint(peer.response())
        assert peer.response().body == b"0"


@pytest.mark.parametrize("target", ["/hinted", "/hinted?slow"])
def test_it_stays_in_its_place_among_pipelined_answers(peer: Peer, target: str) -> None:
    for _ in range(5):
        peer.send((request("GET", "/pipeline") * 3 + request("GET", target)) * 4 + request("GET", "/pipeline"))
        for _ in range(4):
            assert [peer.response().body for _ in range(3)] == [b"ok"] * 3
            expect_hint(peer.response())
            assert peer.response().body == b"0"
        assert peer.response().body == b"ok"


def test_a_client_of_http_1_0_gets_none(arena: Server) -> None:
    with arena.connect() as peer:
        peer.send(b"GET /hinted HTTP/1.0\r\n\r\n")
        assert peer.response().status == 200
        peer.expect_close()


def test_curl_passes_over_it(arena: Server) -> None:
    output = subprocess.run(["curl", "-sS", "-i", f"{arena.url}/hinted"], capture_output=True, check=True).stdout
    hint, answer = output.split(b"\r\n\r\n", 1)
    assert hint.startswith(b"HTTP/1.1 103 ") and answer.startswith(b"HTTP/1.1 200 ") and answer.endswith(b"\r\n\r\n0")
