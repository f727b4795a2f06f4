//! Input for the HTTP/1 targets.

use arbitrary::{Arbitrary, Result, Unstructured};

use crate::fragments::assemble;

/// Bytes made of fragments of HTTP/1 and of anything else, so that a short run from nothing gets past the
/// first line.
#[derive(Debug)]
pub struct Http1Bytes(pub Vec<u8>);

const FRAGMENTS: [&[u8]; 48] = [
    b"GET / HTTP/1.1\r\n",
    b"POST /a?b HTTP/1.1\r\n",
    b"GET http://a:80/b HTTP/1.0\r\n",
    b"CONNECT a:443 HTTP/1.1\r\n",
    b"OPTIONS * HTTP/1.1\r\n",
    b"GET ",
    b"PUT",
    b" /",
    b"?a=b",
    b" HTTP/1.1",
    b" HTTP/1.0",
    b" HTTP/2.0",
    b"http://",
    b"[::1]:80",
    b"Host: a\r\n",
    b"Host:",
    b"\r\nContent-Length: 5\r\n",
    b"Content-Length: 1\r\n",
    b"Content-Length:",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: gzip\r\n",
    b"transfer-encoding:",
    b"chunked",
    b"Connection: close\r\n",
    b"Connection: keep-alive, upgrade\r\n",
    b"Expect: 100-continue\r\n",
    b"X-Field: value\r\n",
    b"X: ",
    b"Trailer: x\r\n",
    b"\r\n",
    b"\r\n\r\n",
    b"\r",
    b"\n",
    b"\t",
    b" ",
    b":",
    b",",
    b";a=\"b\"",
    b";a",
    b"=",
    b"\"",
    b"\\",
    b"\0",
    b"0\r\n\r\n",
    b"0\r\n",
    b"5\r\nhello\r\n",
    b"1\r\n",
    b"ffffffffffffffff",
];

impl<'a> Arbitrary<'a> for Http1Bytes {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        assemble(input, &FRAGMENTS).map(Self)
    }
}
