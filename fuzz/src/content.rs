//! Input for the targets of forms and content codings.

use arbitrary::{Arbitrary, Result, Unstructured};

use crate::fragments::assemble;

/// Bytes made of fragments of a form with the boundary `b`, and of anything else.
#[derive(Debug)]
pub struct MultipartBytes(pub Vec<u8>);

/// A value of `Accept-Encoding`, more or less.
#[derive(Debug)]
pub struct AcceptEncodingText(pub String);

const MULTIPART_FRAGMENTS: [&[u8]; 32] = [
    b"--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n",
    b"--b\r\nContent-Disposition: form-data; name=a; filename=\"f\"\r\n\r\n",
    b"\r\n--b\r\n",
    b"\r\n--b--\r\n",
    b"--b--",
    b"--b",
    b"\r\n--",
    b"\r\n-",
    b"Content-Disposition: form-data",
    b"Content-Type: text/plain\r\n",
    b"Content-Transfer-Encoding: binary\r\n",
    b"; name=\"a\"",
    b"; name=",
    b"; filename=\"../f\"",
    b"; filename*=UTF-8''%e2%82%ac",
    b"; ",
    b";",
    b"=",
    b"\"",
    b"\\",
    b"\\\"",
    b"%",
    b"\r\n\r\n",
    b"\r\n",
    b"\r",
    b"\n",
    b" ",
    b"\t",
    b":",
    b"'",
    b"b",
    b"\0",
];

const ACCEPT_ENCODING_FRAGMENTS: [&[u8]; 24] = [
    b"gzip",
    b"x-gzip",
    b"deflate",
    b"br",
    b"zstd",
    b"identity",
    b"*",
    b"compress",
    b",",
    b";",
    b"q=",
    b"Q=",
    b"0",
    b"1",
    b".",
    b"0.5",
    b"1.000",
    b"0.000",
    b";q=0",
    b";q=1",
    b", ",
    b" ",
    b"\t",
    b"=",
];

impl<'a> Arbitrary<'a> for MultipartBytes {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        assemble(input, &MULTIPART_FRAGMENTS).map(Self)
    }
}

impl<'a> Arbitrary<'a> for AcceptEncodingText {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let bytes = assemble(input, &ACCEPT_ENCODING_FRAGMENTS)?;
        Ok(Self(bytes.into_iter().map(char::from).collect()))
    }
}
