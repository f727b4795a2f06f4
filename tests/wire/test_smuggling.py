"""Messages that two parsers could read differently are refused, never repaired (RFC 9112 sections 5, 6, 7 and 11.2).

Each case is followed by a request that a lenient server would answer too. The one answer is the refusal, and then the
connection closes: nobody can know where the next message would begin.
"""

from __future__ import annotations

import json

import pytest

from peer import Peer

SMUGGLED = b"GET /pipeline HTTP/1.1\r\nHost: a\r\n\r\n"

HEADS = [
    # Content-Length and Transfer-Encoding (RFC 9112 section 6)
    ("length-and-chunked", b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ("chunked-and-length", b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", 400),
    ("lengths-differ", b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", 400),
    ("length-twice", b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", 400),
    ("length-list", b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\n", 400),
    ("length-plus", b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\n", 400),
    ("length-minus", b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n", 400),
    ("length-hex", b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\n", 400),
    ("length-space", b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5 5\r\n\r\n", 400),
    ("length-empty", b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\n", 400),
    ("length-fraction", b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5.0\r\n\r\n", 400),
    ("length-exponent", b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1e1\r\n\r\n", 400),
    ("length-overflow", b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551616\r\n\r\n", 400),
    ("length-on-get-list", b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0, 5\r\n\r\n", 400),
    ("coding-unknown", b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", 501),
    ("coding-identity", b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n", 501),
    ("coding-gzip", b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
    ("coding-gzip-chunked", b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
    ("coding-chunked-gzip", b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", 400),
    ("coding-chunked-twice", b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", 400),
    ("coding-two-fields", b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ("coding-parameter", b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked;q=1\r\n\r\n", 400),
    ("coding-vertical-tab", b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0bchunked\r\n\r\n", 400),
    ("coding-quoted", b'POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "chunked"\r\n\r\n', 400),
    ("coding-empty", b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n", 400),
    ("coding-in-1.0", b"POST /echo HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    # Field lines (RFC 9112 section 5)
    ("space-before-colon", b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length : 5\r\n\r\n", 400),
    ("tab-before-colon", b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding\t: chunked\r\n\r\n", 400),
    ("obs-fold", b"GET / HTTP/1.1\r\nHost: a\r\nX-Folded: one\r\n two\r\n\r\n", 400),
    ("obs-fold-tab", b"GET / HTTP/1.1\r\nHost: a\r\nX-Folded: one\r\n\ttwo\r\n\r\n", 400),
    ("obs-fold-coding", b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n", 400),
    ("space-before-first-field", b"GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400),
    ("no-colon", b"GET / HTTP/1.1\r\nHost: a\r\nX-No-Colon\r\n\r\n", 400),
    ("empty-name", b"GET / HTTP/1.1\r\nHost: a\r\n: value\r\n\r\n", 400),
    ("name-not-a-token", b"GET / HTTP/1.1\r\nHost: a\r\nX(Y): 1\r\n\r\n", 400),
    ("name-with-nul", b"GET / HTTP/1.1\r\nHost: a\r\nX\x00Y: 1\r\n\r\n", 400),
    ("value-with-nul", b"GET / HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n", 400),
    ("value-with-escape", b"GET / HTTP/1.1\r\nHost: a\r\nX: a\x1bb\r\n\r\n", 400),
    ("value-with-delete", b"GET / HTTP/1.1\r\nHost: a\r\nX: a\x7fb\r\n\r\n", 400),
    # Line ends (RFC 9112 section 2.2)
    ("lf-after-request-line", b"GET / HTTP/1.1\nHost: a\r\n\r\n", 400),
    ("lf-after-field", b"GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", 400),
    ("lf-only", b"GET / HTTP/1.1\nHost: a\n\n", 400),
    ("lf-as-end-of-head", b"GET / HTTP/1.1\r\nHost: a\r\n\n", 400),
    ("cr-in-value", b"GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", 400),
    ("cr-in-request-line", b"GET /\r HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("cr-only", b"GET / HTTP/1.1\rHost: a\r\r", 400),
    # Host (RFC 9112 section 3.2)
    ("host-missing", b"GET / HTTP/1.1\r\nX: a\r\n\r\n", 400),
    ("host-twice", b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
    ("host-two-names", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
    ("host-list", b"GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400),
    ("host-space", b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
    ("host-path", b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
    ("host-user", b"GET / HTTP/1.1\r\nHost: user@a\r\n\r\n", 400),
    ("host-port-word", b"GET / HTTP/1.1\r\nHost: a:http\r\n\r\n", 400),
    ("host-open-bracket", b"GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", 400),
    # The request line (RFC 9112 section 3)
    ("http-0.9", b"GET /\r\n", 400),
    ("spaces-two", b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("space-after-version", b"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400),
    ("tab-for-space", b"GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("target-with-space", b"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("target-with-nul", b"GET /a\x00b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("target-not-ascii", b"GET /\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("target-with-fragment", b"GET /#top HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("target-without-slash", b"GET pipeline HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("target-asterisk-get", b"GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("method-empty", b" / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("method-not-a-token", b"G@T / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("connect-without-port", b"CONNECT a HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("version-lower-case", b"GET / http/1.1\r\nHost: a\r\n\r\n", 400),
    ("version-no-dot", b"GET / HTTP/11\r\nHost: a\r\n\r\n", 400),
    ("version-long", b"GET / HTTP/1.10\r\nHost: a\r\n\r\n", 400),
    ("version-2.0", b"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
    ("version-3.0", b"GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505),
    ("preface-of-http2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    ("tls-client-hello", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    # Expectations (RFC 9110 section 10.1.1)
    ("expectation-unknown", b"POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\nContent-Length: 5\r\n\r\n", 417),
]

CHUNKED_HEAD = b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

CHUNKED_BODIES = [
    # The size (RFC 9112 section 7.1)
    ("size-empty", b"\r\nhello\r\n0\r\n\r\n", 400),
    ("size-not-hex", b"g\r\nhello\r\n0\r\n\r\n", 400),
    ("size-prefix", b"0x5\r\nhello\r\n0\r\n\r\n", 400),
    ("size-plus", b"+5\r\nhello\r\n0\r\n\r\n", 400),
    ("size-minus", b"-5\r\nhello\r\n0\r\n\r\n", 400),
    ("size-space-before", b" 5\r\nhello\r\n0\r\n\r\n", 400),
    ("size-underscore", b"1_0\r\nhello\r\n0\r\n\r\n", 400),
    ("size-overflow", b"10000000000000005\r\nhello\r\n0\r\n\r\n", 400),
    ("size-many-zeros", b"0000000000000000000000005\r\nhello\r\n0\r\n\r\n", 400),
    ("size-lf", b"5\nhello\r\n0\r\n\r\n", 400),
    ("size-cr", b"5\rhello\r\n0\r\n\r\n", 400),
    # The data
    ("data-longer", b"3\r\nhello\r\n0\r\n\r\n", 400),
    ("data-lf", b"5\r\nhello\n0\r\n\r\n", 400),
    ("data-no-end", b"5\r\nhello0\r\n\r\n", 400),
    # Extensions (section 7.1.1)
    ("extension-lf", b"5;a\nhello\r\n0\r\n\r\n", 400),
    ("extension-nul", b"5;a=\x00\r\nhello\r\n0\r\n\r\n", 400),
    ("extension-of-last-lf", b"5\r\nhello\r\n0;a\n\r\n", 400),
    # Trailers (section 7.1.2; RFC 9110 section 6.5.1)
    ("trailer-length", b"5\r\nhello\r\n0\r\nContent-Length: 5\r\n\r\n", 400),
    ("trailer-coding", b"5\r\nhello\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ("trailer-host", b"5\r\nhello\r\n0\r\nHost: b\r\n\r\n", 400),
    ("trailer-no-colon", b"5\r\nhello\r\n0\r\nX\r\n\r\n", 400),
    ("trailer-folded", b"5\r\nhello\r\n0\r\nX: a\r\n b\r\n\r\n", 400),
    ("trailer-lf", b"5\r\nhello\r\n0\r\nX: a\n\r\n", 400),
]


def cases(table: list[tuple[str, bytes, int]]) -> list:
    return [pytest.param(message, status, id=name) for name, message, status in table]


@pytest.mark.parametrize("message, status", cases(HEADS))
def test_a_refused_head(peer: Peer, message: bytes, status: int) -> None:
    peer.send(message + SMUGGLED)
    assert_refused(peer, status)


@pytest.mark.parametrize("message, status", cases(HEADS))
def test_a_refused_head_in_single_bytes(peer: Peer, message: bytes, status: int) -> None:
    send_until_refused(peer, message + SMUGGLED)
    assert_refused(peer, status)


@pytest.mark.parametrize("message, status", cases(HEADS))
def test_a_refused_head_behind_a_good_request(peer: Peer, message: bytes, status: int) -> None:
    peer.send(b"GET /pipeline HTTP/1.1\r\nHost: a\r\n\r\n" + message + SMUGGLED)
    assert peer.response().body == b"ok"
    assert_refused(peer, status)


@pytest.mark.parametrize("target", [b"/echo", b"/upload"])
@pytest.mark.parametrize("body, status", cases(CHUNKED_BODIES))
def test_a_refused_chunked_body(peer: Peer, target: bytes, body: bytes, status: int) -> None:
    peer.send(CHUNKED_HEAD.replace(b"/echo", target) + body + SMUGGLED)
    assert_refused(peer, status)


@pytest.mark.parametrize("body, status", cases(CHUNKED_BODIES))
def test_a_refused_chunked_body_in_single_bytes(peer: Peer, body: bytes, status: int) -> None:
    send_until_refused(peer, CHUNKED_HEAD + body + SMUGGLED)
    assert_refused(peer, status)


def test_a_refusal_says_why(peer: Peer) -> None:
    peer.send(b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n")
    response = peer.response()
    assert (response.status, response.get("content-type")) == (501, "application/problem+json")
    problem = json.loads(response.body)
    assert problem["status"] == 501 and "chunked" in problem["detail"]


@pytest.mark.parametrize(
    "line",
    [
        b"X-Obs-Text: caf\xc3\xa9",
        b"X-Empty:",
        b"X-Spaces:   padded   ",
        b"X-Tab:\ta\tb",
        b"x-!#$%&'*+-.^_`|~09: every token character",
        b"Content_Length: 5",
    ],
)
def test_unusual_and_legal_fields_are_taken(peer: Peer, line: bytes) -> None:
    peer.send(b"GET /pipeline HTTP/1.1\r\nHost: a\r\n" + line + b"\r\n\r\n" + SMUGGLED)
    assert [response.body for response in peer.responses(2)] == [b"ok", b"ok"]


@pytest.mark.parametrize(
    "body",
    [
        b"5\r\nhello\r\n0\r\n\r\n",
        b"00005\r\nhello\r\n0\r\n\r\n",
        b"5;name\r\nhello\r\n0\r\n\r\n",
        b"5;name=value;other=\"quoted \\\" string\"\r\nhello\r\n0;last=1\r\n\r\n",
        b"1\r\nh\r\n4\r\nello\r\n000\r\n\r\n",
        b"5\r\nhello\r\n0\r\nX-Checksum: 1\r\nX-Other: 2\r\n\r\n",
    ],
)
def test_legal_chunks_are_taken(peer: Peer, body: bytes) -> None:
    peer.send(CHUNKED_HEAD + body + SMUGGLED)
    assert [response.body for response in peer.responses(2)] == [b"hello", b"ok"]


def assert_refused(peer: Peer, status: int) -> None:
    """The next response refuses with `status` and is the last one."""
    response = peer.response()
    assert (response.status, response.closes) == (status, True), response
    peer.expect_close()


def send_until_refused(peer: Peer, message: bytes) -> None:
    """Sends byte by byte, and stops at the refusal: what is sent to a closed socket resets it."""
    for index in range(len(message)):
        if peer.is_readable():
            return
        peer.send(message[index : index + 1])
