"""How messages follow each other on a connection, and the forms that a request may have (RFC 9112, RFC 9110)."""

from __future__ import annotations

import json
import time

import pytest

from arena import Server
from peer import Closed, Peer, chunked, request

GET = b"GET /pipeline HTTP/1.1\r\nHost: a\r\n\r\n"
PIPELINED_REQUESTS = 100


def test_a_connection_serves_one_request_after_another(peer: Peer) -> None:
    for count in range(1, 21):
        peer.request("GET", f"/json/{count}?m=1")
        assert json.loads(peer.response().body)["count"] == count


def test_close_is_honoured_and_answered(peer: Peer) -> None:
    peer.send(request("GET", "/", Connection="close") + GET)
    response = peer.response()
    assert (response.status, response.closes) == (200, True)
    peer.expect_close()


@pytest.mark.parametrize("option", ["Close", "keep-alive, CLOSE", "close, x"])
def test_connection_options_are_a_list_in_any_case(peer: Peer, option: str) -> None:
    peer.request("GET", "/", Connection=option)
    assert peer.response().closes
    peer.expect_close()


def test_http_1_0_closes_unless_asked_to_stay(peer: Peer) -> None:
    peer.send(b"GET /pipeline HTTP/1.0\r\n\r\n")
    assert peer.response().body == b"ok"
    peer.expect_close()


def test_http_1_0_stays_when_asked(peer: Peer) -> None:
    for _ in range(3):
        peer.send(b"GET /pipeline HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        response = peer.response()
        assert response.body == b"ok"
        assert "keep-alive" in response.get("connection").lower(), response
    peer.send(b"POST /echo HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello")
    assert peer.response().body == b"hello"
    peer.expect_close()


def test_a_client_that_finishes_sending_is_still_answered(peer: Peer) -> None:
    peer.send(GET * 3)
    peer.socket.shutdown(1)
    assert [response.body for response in peer.responses(3)] == [b"ok"] * 3
    peer.expect_close()


def test_a_client_that_sends_nothing_and_leaves_gets_nothing(peer: Peer) -> None:
    peer.socket.shutdown(1)
    with pytest.raises(Closed):
        peer.response()


def test_empty_lines_before_a_request_are_skipped(peer: Peer) -> None:
    peer.send(b"\r\n" + GET + b"\r\n\r\n" + GET)
    assert [response.body for response in peer.responses(2)] == [b"ok", b"ok"]


def test_many_pipelined_gets_are_answered_in_order(peer: Peer) -> None:
    counts = [index % 50 + 1 for index in range(PIPELINED_REQUESTS)]
    peer.send(b"".join(request("GET", f"/json/{count}?m=2") for count in counts))
    assert [json.loads(response.body)["count"] for response in peer.responses(len(counts))] == counts


def test_pipelined_bodies_and_gets_are_answered_in_order(peer: Peer) -> None:
    messages, bodies = mixed_requests(PIPELINED_REQUESTS)
    peer.send(b"".join(messages))
    assert [response.body for response in peer.responses(len(bodies))] == bodies


def test_pipelined_requests_in_single_bytes(peer: Peer) -> None:
    messages, bodies = mixed_requests(10)
    peer.send_bytewise(b"".join(messages))
    assert [response.body for response in peer.responses(len(bodies))] == bodies


def test_a_slow_handler_keeps_its_place_in_the_pipeline(peer: Peer) -> None:
    peer.send(request("GET", "/sleep/50") + request("POST", "/echo", b"two") + request("GET", "/sleep/1") + GET)
    assert [response.body for response in peer.responses(4)] == [b"ok", b"two", b"ok", b"ok"]


def test_a_failing_handler_keeps_its_place_in_the_pipeline(peer: Peer) -> None:
    peer.send(request("GET", "/") + request("GET", "/panic"))
    assert [response.status for response in peer.responses(2)] == [200, 500]


@pytest.mark.parametrize(
    "message, body",
    [
        pytest.param(GET, b"ok", id="get"),
        pytest.param(request("POST", "/echo", b"hello"), b"hello", id="length"),
        pytest.param(chunked("POST", "/echo", [b"hel", b"lo"], trailers=b"X: 1\r\n"), b"hello", id="chunked"),
    ],
)
def test_a_message_cut_in_two_anywhere_means_the_same(peer: Peer, message: bytes, body: bytes) -> None:
    for cut in range(1, len(message)):
        peer.send(message[:cut])
        time.sleep(0.001)  # lets the server read the first part alone; the answer must not depend on it
        peer.send(message[cut:])
        assert peer.response().body == body, f"cut at {cut}"


def test_head_is_get_without_the_body(peer: Peer) -> None:
    for target in ("/", "/pipeline", "/json/5?m=1"):
        peer.request("GET", target)
        full = peer.response()
        peer.request("HEAD", target)
        head = peer.response(to_head=True)
        assert (head.status, head.body) == (full.status, b"")
        for name in ("content-length", "content-type"):
            assert head.get(name) == full.get(name)


def test_errors_to_head_have_no_body_either(peer: Peer) -> None:
    peer.send(request("HEAD", "/no-such-page") + GET)
    assert peer.response(to_head=True).status == 404
    assert peer.response().body == b"ok"


def test_continue_is_sent_before_the_body_is(peer: Peer) -> None:
    peer.send(request("POST", "/echo", Expect="100-continue", Content_Length="5"))
    assert peer.response().status == 100
    peer.send(b"hello")
    response = peer.response()
    assert (response.status, response.body) == (200, b"hello")


def test_continue_is_sent_for_a_chunked_and_for_a_streamed_body(peer: Peer) -> None:
    for target, answer in (("/echo", b"hello"), ("/upload", b"5")):
        peer.send(request("POST", target, Expect="100-Continue", Transfer_Encoding="chunked"))
        assert peer.response().status == 100
        peer.send(b"5\r\nhello\r\n0\r\n\r\n")
        assert peer.response().body.strip() == answer


def test_continue_is_not_sent_for_what_is_refused_anyway(peer: Peer) -> None:
    peer.send(request("POST", "/no-such-page", Expect="100-continue", Content_Length="5"))
    assert peer.response().status == 404


def test_continue_is_not_sent_to_http_1_0(peer: Peer) -> None:
    peer.send(b"POST /echo HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello")
    response = peer.response()
    assert (response.status, response.body) == (200, b"hello")


def test_a_body_that_does_not_wait_for_continue_is_taken(peer: Peer) -> None:
    peer.send(request("POST", "/echo", b"hello", Expect="100-continue") + GET)
    response = peer.response()
    if response.status == 100:
        response = peer.response()
    assert response.body == b"hello"
    assert peer.response().body == b"ok"


def test_options_of_the_server(peer: Peer) -> None:
    peer.send(b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n" + GET)
    response = peer.response()
    assert response.status == 204
    assert {"GET", "HEAD", "POST", "OPTIONS"} <= methods(response.get("allow"))
    assert peer.response().body == b"ok"


def test_options_of_a_page_lists_its_methods(peer: Peer) -> None:
    peer.request("OPTIONS", "/echo")
    response = peer.response()
    assert response.status == 204
    assert methods(response.get("allow")) == {"POST", "OPTIONS"}


@pytest.mark.parametrize("target", ["http://arena.test/pipeline", "http://other.test:81/pipeline?x=1"])
def test_absolute_form(peer: Peer, target: str) -> None:
    peer.request("GET", target)
    assert peer.response().body == b"ok"


def test_a_page_that_is_not_there(peer: Peer) -> None:
    for method in ("GET", "POST", "DELETE"):
        peer.request(method, "/no-such-page")
        response = peer.response()
        assert response.status == 404 and response.body, response
    peer.send(GET)
    assert peer.response().body == b"ok"


@pytest.mark.parametrize(
    "accept, content_type",
    [
        ("*/*", "application/problem+json"),
        ("application/json", "application/problem+json"),
        ("text/plain", "text/plain; charset=utf-8"),
        ("text/plain;q=0.5, application/json", "application/problem+json"),
    ],
)
def test_errors_come_in_the_form_that_is_accepted(peer: Peer, accept: str, content_type: str) -> None:
    for target, status in (("/no-such-page", 404), ("/json/x?m=1", 400), ("/panic", 500)):
        peer.request("GET", target, Accept=accept)
        response = peer.response()
        assert (response.status, response.get("content-type")) == (status, content_type)
        if content_type == "application/problem+json":
            assert json.loads(response.body)["status"] == status
        else:
            assert response.body.startswith(b"%d " % status)


@pytest.mark.parametrize(
    "method, target, allowed",
    [("POST", "/", {"GET", "HEAD"}), ("GET", "/echo", {"POST"}), ("BREW", "/pipeline", {"GET", "HEAD"})],
)
def test_a_method_that_is_not_there(peer: Peer, method: str, target: str, allowed: set[str]) -> None:
    peer.request(method, target)
    response = peer.response()
    assert response.status == 405
    assert allowed <= methods(response.get("allow")) and method not in methods(response.get("allow"))


def test_paths_are_matched_as_they_were_sent(peer: Peer) -> None:
    for target, status in (("/json/5%2F6?m=1", 400), ("/pipeline%2F", 404), ("//", 404), ("/pipeline/", 404)):
        peer.request("GET", target)
        assert peer.response().status == status, target


def test_field_names_are_taken_in_any_case(peer: Peer) -> None:
    peer.send(b"POST /echo HTTP/1.1\r\nhOsT: a\r\ncOnTeNt-LeNgTh: 5\r\nCONNECTION: CLOSE\r\n\r\nhello")
    response = peer.response()
    assert (response.body, response.closes) == (b"hello", True)


def test_the_date_is_in_the_one_form_that_servers_may_send(peer: Peer) -> None:
    peer.send(GET)
    time.strptime(peer.response().get("date"), "%a, %d %b %Y %H:%M:%S GMT")


def test_pipelined_answers_come_while_the_peer_still_sends(arena: Server) -> None:
    """A client that only writes for a while must not make the server hold back or lose an answer."""
    with arena.connect() as peer:
        for _ in range(50):
            peer.send(GET)
        assert [response.body for response in peer.responses(50)] == [b"ok"] * 50


def mixed_requests(count: int) -> tuple[list[bytes], list[bytes]]:
    """Requests with and without bodies in turn, and the bodies of their answers."""
    messages, bodies = [], []
    for index in range(count):
        text = b"%d" % index * (index % 7)
        kind = index % 4
        if kind == 0:
            messages.append(request("POST", "/echo", text))
        elif kind == 1:
            messages.append(chunked("POST", "/echo", [text[:3], text[3:]]))
        elif kind == 2:
            messages.append(request("GET", f"/baseline11?a={index}&b=1"))
        else:
            messages.append(chunked("POST", f"/baseline11?a={index}&b=1", [b"1", b"0"]))
        bodies.append([text, text, b"%d" % (index + 1), b"%d" % (index + 11)][kind])
    return messages, bodies


def methods(allow: str) -> set[str]:
    return {method.strip() for method in allow.split(",")}
