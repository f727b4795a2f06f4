"""MongoDB collections over the wire: the office application of the arena, against FerretDB."""

from __future__ import annotations

import html
import json

import pytest

from arena import Server
from database import Database, free_port
from offices import SAMPLE, add, ask, detail, new_id, office
from peer import request

pytestmark = pytest.mark.mongo

#: The name of the thread that the driver runs on.
DRIVER = "tayet-mongo"

HARD_STRINGS = [
    'say "hello"',
    "C:\\looms\\new",
    "one\r\ntwo\rthree\nfour",
    "Zürich, 東京, Ω, \U0001f9f5",
    "<script>alert('&amp;')</script>",
    "tab\tbell\x07nul\\u0000 separators\u2028\u2029",
    "$set: {a.b: 1}",
    "",
]


@pytest.fixture
def server(start_arena, database: Database) -> Server:
    return start_arena("--mongodb-uri", f"mongodb://{database.address}/office")


def test_an_office_without_a_database(start_arena) -> None:
    server: Server = start_arena()
    with server.connect() as peer:
        peer.request("GET", "/office/json")
        answer = peer.response()
    assert answer.get("content-type") == "application/json"
    assert json.loads(answer.body) == SAMPLE
    assert rb'"address":"Webergasse 7\r\n8001 Z' in answer.body
    assert "Zürich \\\"Loom".encode() in answer.body


def test_nothing_of_mongodb_is_there_before_it_is_asked_for(server: Server) -> None:
    assert server.get("/") == b"Hello, World!"
    assert DRIVER not in server.threads()
    assert ask(server, "GET", f"/mongo/office/{new_id()}").status == 404
    assert DRIVER in server.threads()


def test_where_no_server_is_the_answer_says_so(start_arena) -> None:
    address = f"127.0.0.1:{free_port()}"
    server: Server = start_arena("--mongodb-uri", f"mongodb://{address}/office")
    for suffix in ("", "/later"):
        answer = ask(server, "GET", f"/mongo/office/{new_id()}{suffix}")
        assert answer.status == 503, answer
        assert int(answer.get("retry-after")) > 0
        assert "database" in detail(answer)
    assert address in server.error_output(), "whoever runs the server is told where none is"
    assert server.get("/office/json"), "what needs no database is served as ever"


def test_a_uri_that_is_none_is_refused_at_start(start_arena) -> None:
    with pytest.raises(AssertionError, match="postgres"):
        start_arena("--mongodb-uri", "postgres://127.0.0.1/office")


def test_an_office_is_added_read_replaced_and_removed(server: Server) -> None:
    first = SAMPLE | {"_id": new_id(), "tenantId": new_id()}
    assert add(server, first) == first
    path = f"/mongo/office/{first['_id']}"
    assert json.loads(server.get(path)) == first
    second = office(_id=first["_id"], latitude=-0.5, options={"altSchedule": [0]})
    replaced = ask(server, "PUT", path, second)
    assert (replaced.status, json.loads(replaced.body)) == (200, second)
    assert json.loads(server.get(path)) == second
    assert ask(server, "DELETE", path).status == 204
    assert ask(server, "GET", path).status == 404


def test_an_office_without_an_id_is_given_one(server: Server) -> None:
    nameless = office()
    del nameless["_id"]
    answer = ask(server, "POST", "/mongo/office", nameless)
    made = json.loads(answer.body)
    assert answer.status == 201 and answer.get("location") == f"/mongo/office/{made['_id']}"
    assert made == nameless | {"_id": made["_id"]}


@pytest.mark.parametrize("text", HARD_STRINGS)
def test_every_string_comes_back_as_it_was(server: Server, text: str) -> None:
    put = office(name=text, address=text, email=text)
    add(server, put)
    path = f"/mongo/office/{put['_id']}"
    assert json.loads(server.get(path)) == put
    page = server.get(f"{path}/html").decode()
    assert html.unescape(page).count(text) >= 4, page
    assert "<script>" not in page and "'&amp;'" not in page


def test_a_query_that_is_returned_answers_like_one_that_waits(server: Server) -> None:
    path = f"/mongo/office/{add(server, office())['_id']}"
    waited, returned = ask(server, "GET", path), ask(server, "GET", f"{path}/later")
    assert (returned.status, returned.body) == (200, waited.body)
    assert [name for name, _ in returned.fields] == [name for name, _ in waited.fields]
    with server.connect() as peer:
        peer.request("HEAD", f"{path}/later")
        head = peer.response(to_head=True)
        assert (head.status, head.get("content-length")) == (200, str(len(waited.body)))
        peer.request("GET", path)
        assert peer.response().body == waited.body


def test_answers_that_come_later_keep_their_places(server: Server) -> None:
    office_there = add(server, office())
    targets = ["/", f"/mongo/office/{office_there['_id']}/later"] * 8
    with server.connect() as peer:
        peer.send(b"".join(request("GET", target) for target in targets))
        answers = peer.responses(len(targets))
    assert [answer.body for answer in answers[::2]] == [b"Hello, World!"] * 8
    assert [json.loads(answer.body) for answer in answers[1::2]] == [office_there] * 8


def test_pages_have_each_office_once_and_in_order(server: Server) -> None:
    tenant = new_id()
    ids = sorted(add(server, office(tenantId=tenant, name=f"Mill {number}"))["_id"] for number in range(25))
    add(server, office())
    seen, target = [], f"/mongo/office?tenantId={tenant}&limit=10"
    sizes = []
    while target:
        page = json.loads(server.get(target))
        seen += [item["_id"] for item in page["items"]]
        sizes.append(len(page["items"]))
        target = page["next"] and f"/mongo/office?tenantId={tenant}&limit=10&after={page['next']}"
    assert seen == ids
    assert sizes == [10, 10, 5]


def test_what_is_removed_between_two_pages_takes_nothing_else_with_it(server: Server) -> None:
    tenant = new_id()
    ids = sorted(add(server, office(tenantId=tenant, name=f"Mill {number}"))["_id"] for number in range(4))
    page = json.loads(server.get(f"/mongo/office?tenantId={tenant}&limit=2"))
    for id in ids[:2]:
        assert ask(server, "DELETE", f"/mongo/office/{id}").status == 204
    rest = json.loads(server.get(f"/mongo/office?tenantId={tenant}&limit=2&after={page['next']}"))
    assert [item["_id"] for item in rest["items"]] == ids[2:]


@pytest.mark.parametrize("query", ["limit=x", "limit=-1", "after=x", "tenantId=1"])
def test_a_page_that_cannot_be_is_refused(server: Server, query: str) -> None:
    assert ask(server, "GET", f"/mongo/office?{query}").status == 400


@pytest.mark.parametrize("method, suffix", [("GET", ""), ("GET", "/later"), ("GET", "/html"), ("PUT", ""), ("DELETE", "")])
def test_an_id_that_is_none_is_400_and_one_that_is_nowhere_404(server: Server, method: str, suffix: str) -> None:
    value = office() if method == "PUT" else None
    for id, status in (("x", 400), ("0" * 23, 400), ("z" * 24, 400), (new_id(), 404)):
        answer = ask(server, method, f"/mongo/office/{id}{suffix}", value)
        assert answer.status == status, answer
        assert detail(answer)


def test_what_is_there_already_is_a_conflict(server: Server) -> None:
    there = office()
    add(server, there)
    same_id = ask(server, "POST", "/mongo/office", office(_id=there["_id"]))
    assert same_id.status == 409 and detail(same_id), same_id
    # The index that forbids it is made behind the first query.
    while (same_name := ask(server, "POST", "/mongo/office", office(tenantId=there["tenantId"]))).status == 201:
        assert ask(server, "DELETE", same_name.get("location")).status == 204
    assert same_name.status == 409 and detail(same_name), same_name


def test_a_name_that_another_has_is_a_conflict(server: Server) -> None:
    tenant = new_id()
    _, there = (add(server, office(tenantId=tenant, name=name)) for name in ("Mill", "Loom"))
    path = f"/mongo/office/{there['_id']}"
    # The index that forbids it is made behind the first query.
    while (renamed := ask(server, "PUT", path, there | {"name": "Mill"})).status == 200:
        assert ask(server, "PUT", path, there).status == 200
    assert renamed.status == 409 and detail(renamed), renamed
    assert json.loads(server.get(path)) == there


@pytest.mark.parametrize(
    "body, status",
    [
        (b"{", 400),
        (b"[]", 422),
        (b"{}", 422),
        (json.dumps(office(_id="x")).encode(), 422),
        (json.dumps(office(colour="red")).encode(), 422),
        (json.dumps(office(options={"availableFromHour": "7"})).encode(), 422),
    ],
)
def test_a_body_that_is_no_office_is_refused(server: Server, body: bytes, status: int) -> None:
    with server.connect() as peer:
        peer.request("POST", "/mongo/office", body, Content_Type="application/json")
        assert peer.response().status == status
