"""Asking the arena for offices."""

from __future__ import annotations

import json
import secrets

from arena import ROOT, Server
from peer import Response

SAMPLE = json.loads((ROOT / "bench" / "peers" / "office.json").read_text())
JSON = {"Content_Type": "application/json"}


def new_id() -> str:
    return secrets.token_hex(12)


def office(**fields: object) -> dict:
    """An office with the least that one has, and these fields."""
    least = {"_id": new_id(), "tenantId": new_id(), "name": "Mill", "address": "1 Warp St", "sendICalNotifications": False}
    return least | {"options": {}} | fields


def ask(server: Server, method: str, target: str, value: object = None) -> Response:
    """The answer to one request on a connection of its own."""
    with server.connect() as peer:
        if value is None:
            peer.request(method, target)
        else:
            peer.request(method, target, json.dumps(value).encode(), **JSON)
        return peer.response()


def add(server: Server, value: dict) -> dict:
    """Adds an office; what the server says it is."""
    answer = ask(server, "POST", "/mongo/office", value)
    assert answer.status == 201, answer
    assert answer.get("location") == f"/mongo/office/{value['_id']}"
    return json.loads(answer.body)


def detail(answer: Response) -> str:
    """What the server says went wrong."""
    assert answer.get("content-type") == "application/problem+json", answer
    problem = json.loads(answer.body)
    assert problem["status"] == answer.status
    return problem["detail"]
