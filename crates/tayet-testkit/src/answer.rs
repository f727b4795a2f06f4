//! A response, as a client reads it.

use std::fmt;

/// A whole response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The header fields, in order, with their names in lower case.
    pub fields: Vec<(String, String)>,
    /// The body, without its framing.
    pub body: Vec<u8>,
}

/// Bytes that are no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MalformedAnswer(String);

impl fmt::Display for MalformedAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this is no response: {}", self.0)
    }
}

impl std::error::Error for MalformedAnswer {}

impl Answer {
    /// The value of the first field of this name (in lower case).
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Whether it is an interim response that nobody waits for: any but `100 Continue`.
    pub fn is_hint(&self) -> bool {
        matches!(self.status, 102..=199)
    }

    /// Whether the server says that it closes the connection behind this answer.
    pub fn closes(&self) -> bool {
        self.field("connection") == Some("close")
    }

    /// Reads the response that `bytes` begin with. Gives it with its length, or `None` while it is not complete.
    /// `is_head` says whether it answers HEAD; `has_ended` whether no more comes, which completes a body that has no
    /// other end.
    ///
    /// # Errors
    ///
    /// When it is no response, or is framed in two ways at once.
    pub fn parse(
        bytes: &[u8],
        is_head: bool,
        has_ended: bool,
    ) -> Result<Option<(Self, usize)>, MalformedAnswer> {
        let Some(head_length) = find(bytes, b"\r\n\r\n").map(|at| at + 4) else {
            return if b"HTTP/1.1 ".starts_with(&bytes[..bytes.len().min(9)]) {
                Ok(None)
            } else {
                Err(malformed(bytes))
            };
        };
        let (head, rest) = bytes.split_at(head_length);
        let (status, fields) = parse_head(head).ok_or_else(|| malformed(bytes))?;
        let mut answer = Self { status, fields, body: Vec::new() };
        let length = answer.field("content-length").map(str::parse::<usize>);
        let coding = answer.field("transfer-encoding");
        if answer
            .fields
            .iter()
            .filter(|(name, _)| name == "content-length" || name == "transfer-encoding")
            .count()
            > 1
        {
            return Err(malformed(bytes));
        }
        let has_no_body = is_head || matches!(status, 100..=199 | 204 | 304);
        let body_length = match (length, coding) {
            _ if has_no_body => 0,
            (Some(Ok(length)), None) if length > rest.len() => return Ok(None),
            (Some(Ok(length)), None) => {
                answer.body = rest[..length].to_vec();
                length
            }
            (None, Some("chunked")) => match parse_chunks(rest).ok_or_else(|| malformed(bytes))? {
                Some((body, length)) => {
                    answer.body = body;
                    length
                }
                None => return Ok(None),
            },
            (None, None) if has_ended => {
                answer.body = rest.to_vec();
                rest.len()
            }
            (None, None) => return Ok(None),
            _ => return Err(malformed(bytes)),
        };
        Ok(Some((answer, head_length + body_length)))
    }
}

fn parse_head(head: &[u8]) -> Option<(u16, Vec<(String, String)>)> {
    let head = std::str::from_utf8(head).ok()?;
    let mut lines = head.strip_suffix("\r\n\r\n")?.split("\r\n");
    let (status, _reason) = lines.next()?.strip_prefix("HTTP/1.1 ")?.split_once(' ')?;
    let fields = lines.map(|line| {
        let (name, value) = line.split_once(": ")?;
        Some((name.to_ascii_lowercase(), value.to_owned()))
    });
    Some((status.parse().ok()?, fields.collect::<Option<_>>()?))
}

/// A chunked body and how long it was; the outer `None` for what is not chunked, the inner one for what is not complete.
fn parse_chunks(bytes: &[u8]) -> Option<Option<(Vec<u8>, usize)>> {
    let mut body = Vec::new();
    let mut at = 0;
    loop {
        let Some(line) = find(&bytes[at..], b"\r\n") else { return Some(None) };
        let size = std::str::from_utf8(&bytes[at..at + line]).ok()?;
        let size = usize::from_str_radix(size, 16).ok()?;
        at += line + 2;
        let Some(chunk) = bytes.get(at..at + size + 2) else { return Some(None) };
        let data = chunk.strip_suffix(b"\r\n")?;
        body.extend_from_slice(data);
        at += size + 2;
        if size == 0 {
            return Some(Some((body, at)));
        }
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

fn malformed(bytes: &[u8]) -> MalformedAnswer {
    MalformedAnswer(bytes[..bytes.len().min(300)].escape_ascii().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Option<(Answer, usize)>, MalformedAnswer> {
        Answer::parse(text.as_bytes(), false, false)
    }

    #[test]
    fn answers_are_read_whole_and_not_before() {
        for text in [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        ] {
            for cut in 0..text.len() {
                assert_eq!(parse(&text[..cut]), Ok(None), "{text} cut at {cut}");
            }
            let (answer, length) = parse(&format!("{text}HTTP/1.1 ")).unwrap().unwrap();
            assert_eq!((answer.status, answer.body.as_slice(), length), (200, &b"hello"[..], text.len()));
        }
    }

    #[test]
    fn a_body_without_length_ends_with_the_connection() {
        let bytes = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nhello";
        assert_eq!(Answer::parse(bytes, false, false), Ok(None));
        let (answer, length) = Answer::parse(bytes, false, true).unwrap().unwrap();
        assert_eq!((answer.body.as_slice(), length), (&b"hello"[..], bytes.len()));
        assert!(answer.closes());
    }

    #[test]
    fn an_answer_to_head_has_no_body() {
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n";
        let (answer, length) = Answer::parse(head, true, false).unwrap().unwrap();
        assert_eq!((answer.body.len(), length), (0, head.len()));
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for text in [
            "hello",
            "HTTP/1.1 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nx\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
