"""httpbin as a whole application, with requests as its client: redirects, cookies, authentication, codings, ranges, streams.

It takes chunked bodies from gunicorn alone, by its name, so those are in test_input.py.
"""

import hashlib
import threading

import httpbin
import pytest
import requests
import tayet

JPEG, PNG = b"\xff\xd8\xff", b"\x89PNG"


@pytest.fixture(scope="module")
def url():
    server = tayet.start(httpbin.app, "127.0.0.1:0")
    yield f"http://{server.addresses[0]}"
    server.shutdown()
    assert server.join(), "a thread is left in the application"


@pytest.fixture
def session(url):
    with requests.Session() as opened:
        opened.request = limited(opened.request, url)
        yield opened


def limited(request, url):
    return lambda method, path, **options: request(method, url + path, timeout=20, **options)


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_each_method_comes_as_it_was_sent(session, method):
    answer = session.request(method, f"/{method.lower()}?a=1&a=2&b=%C3%A9", headers={"X-Mine": "yes"})
    assert answer.status_code == 200
    seen = answer.json()
    assert seen["args"] == {"a": ["1", "2"], "b": "é"}
    assert seen["headers"]["X-Mine"] == "yes"
    assert seen["origin"] == "127.0.0.1"
    assert seen["url"] == answer.url.replace("%C3%A9", "é")


def test_bodies_come_as_they_were_sent(session):
    assert session.post("/post", data={"k": ["1", "2"], "ü": "ö"}).json()["form"] == {"k": ["1", "2"], "ü": "ö"}
    assert session.post("/post", json={"deep": [1, None, "é"]}).json()["json"] == {"deep": [1, None, "é"]}
    assert session.put("/put", data=b"text" * 50_000).json()["data"] == "text" * 50_000
    seen = session.post("/post", files={"file": ("name.txt", b"content")}, data={"field": "value"}).json()
    assert (seen["files"], seen["form"]) == ({"file": "content"}, {"field": "value"})


def test_anything_is_answered_with_what_was_asked(session):
    seen = session.request("TRACE", "/anything/a%20b/c?x=").json()
    assert (seen["method"], seen["args"]) == ("TRACE", {"x": ""})
    assert seen["url"].endswith("/anything/a%20b/c?x=")


def test_head_has_the_fields_of_get_and_no_body(session):
    got, head = session.get("/image/png"), session.head("/image/png")
    assert head.content == b""
    for field in ("Content-Type", "Content-Length"):
        assert head.headers[field] == got.headers[field]


def test_options_tells_the_methods(session):
    assert {"GET", "HEAD", "OPTIONS"} <= set(session.options("/get").headers["Allow"].split(", "))


@pytest.mark.parametrize("status", [200, 201, 204, 206, 304, 400, 401, 402, 404, 406, 409, 410, 418, 429, 500, 503])
def test_every_status_is_passed_on(session, status):
    answer = session.get(f"/status/{status}")
    assert answer.status_code == status
    if status in (204, 304):
        assert answer.content == b""


@pytest.mark.parametrize("kind", ["redirect", "relative-redirect", "absolute-redirect"])
def test_redirects_are_followed(session, kind):
    answer = session.get(f"/{kind}/4")
    assert answer.status_code == 200
    assert [step.status_code for step in answer.history] == [302] * 4
    assert answer.url.endswith("/get")


@pytest.mark.parametrize(("status", "method"), [(301, "GET"), (303, "GET"), (307, "POST"), (308, "POST")])
def test_redirects_keep_or_change_the_method(session, status, method):
    answer = session.post("/redirect-to", params={"url": "/anything", "status_code": status}, data={"k": "v"})
    assert answer.json()["method"] == method


def test_cookies_are_set_kept_and_deleted(session):
    session.get("/cookies/set?first=1&second=two%20words")
    session.get("/cookies/set/third/3")
    assert session.get("/cookies").json()["cookies"] == {"first": "1", "second": "two words", "third": "3"}
    session.get("/cookies/delete?first&second")
    assert session.get("/cookies").json()["cookies"] == {"third": "3"}


def test_basic_authentication(session):
    assert session.get("/basic-auth/user/pass").status_code == 401
    assert session.get("/basic-auth/user/pass", auth=("user", "wrong")).status_code == 401
    assert session.get("/basic-auth/user/pass", auth=("user", "pass")).json()["authenticated"] is True
    assert session.get("/hidden-basic-auth/user/pass").status_code == 404
    assert session.get("/bearer", headers={"Authorization": "Bearer token"}).json()["token"] == "token"


@pytest.mark.parametrize("algorithm", ["MD5", "SHA-256", "SHA-512"])
def test_digest_authentication(session, algorithm):
    path = f"/digest-auth/auth/user/pass/{algorithm}"
    assert session.get(path).status_code == 401
    answer = session.get(path, auth=requests.auth.HTTPDigestAuth("user", "pass"))
    assert answer.status_code == 200 and answer.json()["authenticated"] is True


@pytest.mark.parametrize(("path", "field"), [("/gzip", "gzipped"), ("/deflate", "deflated")])
def test_compressed_answers_are_what_they_say(session, path, field):
    answer = session.get(path)
    assert answer.headers["Content-Encoding"] == path[1:]
    assert answer.json()[field] is True


@pytest.mark.parametrize(
    ("path", "kind", "beginning"),
    [
        ("/image/jpeg", "image/jpeg", JPEG),
        ("/image/png", "image/png", PNG),
        ("/image/webp", "image/webp", b"RIFF"),
        ("/image/svg", "image/svg+xml", b"<svg"),
        ("/html", "text/html; charset=utf-8", b"<!DOCTYPE html>"),
        ("/xml", "application/xml", b"<?xml"),
        ("/robots.txt", "text/plain", b"User-agent"),
        ("/deny", "text/plain", b"\n          .-"),
        ("/json", "application/json", b"{"),
        ("/encoding/utf8", "text/html; charset=utf-8", b"<h1>Unicode"),
        ("/forms/post", "text/html; charset=utf-8", b"<!DOCTYPE html>"),
        ("/links/3/0", "text/html; charset=utf-8", b"<html>"),
    ],
)
def test_documents_come_with_their_types(session, path, kind, beginning):
    answer = session.get(path)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == kind
    assert answer.content.startswith(beginning)


def test_accepted_types_are_chosen_from(session):
    assert session.get("/image", headers={"Accept": "image/png"}).content.startswith(PNG)
    assert session.get("/image", headers={"Accept": "text/html"}).status_code == 406


def test_caches_are_answered_by_conditions(session):
    assert session.get("/cache").status_code == 200
    assert session.get("/cache", headers={"If-None-Match": "x"}).status_code == 304
    assert session.get("/cache/60").headers["Cache-Control"] == "public, max-age=60"
    assert session.get("/etag/tag", headers={"If-None-Match": '"tag"'}).status_code == 304
    assert session.get("/etag/tag", headers={"If-Match": '"other"'}).status_code == 412


def test_ranges_are_parts_of_the_whole(session):
    whole = session.get("/range/5000").content
    assert len(whole) == 5000
    part = session.get("/range/5000", headers={"Range": "bytes=1000-1999"})
    assert part.status_code == 206
    assert part.content == whole[1000:2000]
    assert part.headers["Content-Range"] == "bytes 1000-1999/5000"
    assert session.get("/range/5000", headers={"Range": "bytes=9000-"}).status_code == 416


def test_streams_come_line_by_line_and_whole(session):
    with session.get("/stream/20", stream=True) as answer:
        assert answer.headers["Transfer-Encoding"] == "chunked"
        lines = [line for line in answer.iter_lines() if line]
    assert len(lines) == 20
    many = session.get("/stream-bytes/100000?seed=7&chunk_size=1000").content
    assert many == session.get("/stream-bytes/100000?seed=7").content
    assert len(many) == 100_000


def test_bytes_are_neither_more_nor_fewer(session):
    first, second = (session.get("/bytes/90000?seed=3").content for _ in range(2))
    assert len(first) == 90_000 and hashlib.sha256(first).digest() == hashlib.sha256(second).digest()


def test_what_drips_comes_whole(session):
    answer = session.get("/drip?duration=0.3&numbytes=5&code=201&delay=0")
    assert (answer.status_code, answer.content) == (201, b"*****")


def test_response_fields_are_passed_on(session):
    answer = session.get("/response-headers?X-One=1&X-Two=a&X-Two=b")
    assert (answer.headers["X-One"], answer.headers["X-Two"]) == ("1", "a, b")


def test_base64_and_uuid(session):
    assert session.get("/base64/VGF5ZXQ=").content == b"Tayet"
    assert session.get("/uuid").json()["uuid"] != session.get("/uuid").json()["uuid"]


def test_who_asks_is_told(session):
    assert session.get("/ip").json() == {"origin": "127.0.0.1"}
    assert session.get("/user-agent", headers={"User-Agent": "me"}).json() == {"user-agent": "me"}
    assert session.get("/headers").json()["headers"]["Accept"] == "*/*"


def test_delays_do_not_hold_up_others(url):
    slow = [threading.Thread(target=requests.get, args=(f"{url}/delay/1",), kwargs={"timeout": 20}) for _ in range(20)]
    for thread in slow:
        thread.start()
    assert requests.get(f"{url}/get", timeout=20).status_code == 200
    assert any(thread.is_alive() for thread in slow), "the quick one was answered while the slow ones waited"
    for thread in slow:
        thread.join()
