"""What the arena's endpoints answer."""

from __future__ import annotations

import json

import pytest

from arena import Server
from peer import Peer, chunked, request

ITEM_FIELDS = {"id", "name", "category", "price", "quantity", "active", "tags", "rating", "total"}


def test_hello(peer: Peer) -> None:
    peer.request("GET", "/")
    response = peer.response()
    assert (response.status, response.body) == (200, b"Hello, World!")
    assert response.get("content-type").startswith("text/plain")
    assert response.get("content-length") == "13"


def test_pipeline(peer: Peer) -> None:
    peer.request("GET", "/pipeline")
    assert peer.response().body == b"ok"


@pytest.mark.parametrize(
    "message, total",
    [
        (request("GET", "/baseline11?a=13&b=42"), b"55"),
        (request("GET", "/baseline11?b=42&a=-50"), b"-8"),
        (request("POST", "/baseline11?a=13&b=42", b"20"), b"75"),
        (request("POST", "/baseline11?a=1&b=1", b"-20"), b"-18"),
        (request("POST", "/baseline11?a=13&b=42", b""), b"55"),
        (chunked("POST", "/baseline11?a=13&b=42", [b"20"]), b"75"),
        (chunked("POST", "/baseline11?a=13&b=42", [b"2", b"0"]), b"75"),
        (chunked("POST", "/baseline11?a=13&b=42", []), b"55"),
    ],
)
def test_baseline_adds_up(peer: Peer, message: bytes, total: bytes) -> None:
    peer.send(message)
    response = peer.response()
    assert (response.status, response.body) == (200, total)


@pytest.mark.parametrize("query", ["", "?a=1", "?a=x&b=1", "?a=1&b=99999999999999999999"])
def test_baseline_says_what_it_cannot_read(peer: Peer, query: str) -> None:
    peer.request("GET", f"/baseline11{query}")
    response = peer.response()
    assert response.status == 400 and response.body, response


@pytest.mark.parametrize("count, multiplier", [(1, 1), (7, 3), (50, 2)])
def test_json(peer: Peer, count: int, multiplier: int) -> None:
    peer.request("GET", f"/json/{count}?m={multiplier}")
    response = peer.response()
    assert response.get("content-type") == "application/json"
    document = json.loads(response.body)
    assert (set(document), document["count"], len(document["items"])) == ({"items", "count"}, count, count)
    for item in document["items"]:
        assert set(item) == ITEM_FIELDS and set(item["rating"]) == {"score", "count"}
        assert item["total"] == item["price"] * item["quantity"] * multiplier
        assert isinstance(item["active"], bool) and isinstance(item["tags"], list)


def test_json_items_are_always_the_same_ones(arena: Server) -> None:
    few, all_of_them = (json.loads(arena.get(f"/json/{count}?m=1"))["items"] for count in (10, 50))
    assert few == all_of_them[:10]
    assert len({item["id"] for item in all_of_them}) == 50


@pytest.mark.parametrize("target", ["/json/0?m=1", "/json/51?m=1", "/json/-1?m=1", "/json/x?m=1", "/json/5?m=x"])
def test_json_refuses_what_it_does_not_have(peer: Peer, target: str) -> None:
    peer.request("GET", target)
    response = peer.response()
    assert response.status in (400, 404) and response.body, response


def test_sleep_and_spin(peer: Peer) -> None:
    for target in ("/sleep/1", "/sleep/0", "/spin/100"):
        peer.request("GET", target)
        assert peer.response().body == b"ok"


def test_panic_is_a_500_and_the_server_survives(arena: Server, peer: Peer) -> None:
    for _ in range(20):
        with arena.connect() as other:
            other.request("GET", "/panic")
            response = other.response()
            assert response.status == 500
            assert b"panicked" not in response.body, "what went wrong inside is not for the peer"
    peer.request("GET", "/pipeline")
    assert peer.response().body == b"ok"
    assert arena.is_running()
