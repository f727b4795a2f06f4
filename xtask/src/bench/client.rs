//! A client for what the load generator cannot do: to ask once, to be on time, to stay and say nothing.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, bail, ensure};

/// Larger than any answer's head and any body that this client asks for.
const MAX_RESPONSE_BYTES: usize = 2 * 1024 * 1024;

/// A connection that may carry many requests, one at a time.
pub(super) struct Connection {
    stream: TcpStream,
    address: SocketAddr,
    received: Vec<u8>,
}

/// An answer, complete.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    /// The field lines.
    head: String,
    pub(super) body: Vec<u8>,
}

impl Response {
    /// A field's value; `name` in lower case.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        field(&self.head, name)
    }
}

impl Connection {
    /// Connects; no single read or write takes longer than `limit` either.
    pub(super) fn open(address: SocketAddr, limit: Duration) -> anyhow::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, limit).context("connecting")?;
        stream.set_read_timeout(Some(limit))?;
        stream.set_write_timeout(Some(limit))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, address, received: Vec::new() })
    }

    /// Sends a request and reads its answer.
    pub(super) fn get(&mut self, path: &str) -> anyhow::Result<Response> {
        self.send(path)?;
        self.receive()
    }

    /// The same with a field line more.
    pub(super) fn get_with(&mut self, path: &str, line: &str) -> anyhow::Result<Response> {
        let request = request_text_with(path, self.address, &[line]);
        self.stream.write_all(request.as_bytes()).context("sending")?;
        self.receive()
    }

    /// Sends JSON and reads the answer.
    pub(super) fn post(&mut self, path: &str, json: &str) -> anyhow::Result<Response> {
        let (address, bytes) = (self.address, json.len());
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {bytes}\r\n\r\n"
        );
        self.stream.write_all((head + json).as_bytes()).context("sending")?;
        self.receive()
    }

    pub(super) fn send(&mut self, path: &str) -> anyhow::Result<()> {
        self.stream.write_all(request_text(path, self.address).as_bytes()).context("sending")
    }

    pub(super) fn receive(&mut self) -> anyhow::Result<Response> {
        self.received.clear();
        loop {
            if let Some(response) = parse_response(&self.received)? {
                return Ok(response);
            }
            let mut chunk = [0; 4096];
            let count = self.stream.read(&mut chunk).context("waiting for the answer")?;
            ensure!(count > 0, "the server closed the connection before its answer was complete");
            self.received.extend_from_slice(&chunk[..count]);
            ensure!(self.received.len() <= MAX_RESPONSE_BYTES, "the answer is too long");
        }
    }

    /// Like [`receive`](Self::receive), with a limit of its own for each read.
    pub(super) fn receive_within(&mut self, limit: Duration) -> anyhow::Result<Response> {
        // The system takes no limit of zero; what has arrived already is read all the same.
        self.stream.set_read_timeout(Some(limit.max(Duration::from_millis(1))))?;
        self.receive()
    }

    /// Whether the server closes the connection when a request asks for it.
    pub(super) fn closes_when_asked(mut self, path: &str) -> anyhow::Result<bool> {
        self.get_with(path, "Connection: close")?;
        match self.stream.read(&mut [0; 1]) {
            Ok(count) => Ok(count == 0),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(false),
            Err(error) => Err(error).context("waiting for the close"),
        }
    }
}

/// Byte for byte what wrk sends, so that a server which only counts bytes takes both for the same.
pub(super) fn request_text(path: &str, address: SocketAddr) -> String {
    request_text_with(path, address, &[])
}

fn request_text_with(path: &str, address: SocketAddr, lines: &[&str]) -> String {
    let lines: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
    format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{lines}\r\n")
}

/// Nothing while there is more to come.
fn parse_response(received: &[u8]) -> anyhow::Result<Option<Response>> {
    let Some(head_end) = received.windows(4).position(|window| window == b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = std::str::from_utf8(&received[..head_end]).context("the head is not text")?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.with_context(|| format!("no status in {head:?}"))?;
    let rest = &received[head_end + 4..];
    let body = match field(head, "content-length") {
        Some(length) => {
            rest.get(..length.parse().context("its Content-Length is no number")?).map(<[u8]>::to_vec)
        }
        None if field(head, "transfer-encoding") == Some("chunked") => unchunk(rest)?,
        None if status == 204 => Some(Vec::new()),
        None => bail!("no Content-Length in {head:?}"),
    };
    Ok(body.map(|body| Response { status, head: head.to_owned(), body }))
}

fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (field, value) = line.split_once(':')?;
        field.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// What the chunks hold (RFC 9112, section 7.1); nothing while there is more to come. No server here sends trailers.
fn unchunk(mut rest: &[u8]) -> anyhow::Result<Option<Vec<u8>>> {
    let mut body = Vec::new();
    loop {
        let Some(line_end) = rest.windows(2).position(|window| window == b"\r\n") else { return Ok(None) };
        let size = std::str::from_utf8(&rest[..line_end]).context("a chunk's size is not text")?;
        let size = usize::from_str_radix(size, 16).with_context(|| format!("no chunk's size in {size:?}"))?;
        ensure!(size <= MAX_RESPONSE_BYTES, "a chunk is too long");
        let data = &rest[line_end + 2..];
        let Some(after) = data.get(size + 2..) else { return Ok(None) };
        if size == 0 {
            return Ok(Some(body));
        }
        body.extend_from_slice(&data[..size]);
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-LENGTH: 5\r\nDate: x\r\n\r\nHello";

    #[test]
    fn an_answer_is_complete_with_its_last_byte() {
        for end in 0..ANSWER.len() {
            assert_eq!(parse_response(&ANSWER[..end]).unwrap(), None);
        }
        let answer = parse_response(ANSWER).unwrap().unwrap();
        assert_eq!((answer.status, &answer.body[..]), (200, &b"Hello"[..]));
        assert_eq!(answer.field("date"), Some("x"));
    }

    #[test]
    fn chunks_are_put_together_when_all_are_there() {
        const CHUNKED: &[u8] =
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nHel\r\na\r\nlo, World!\r\n0\r\n\r\n";
        for end in 0..CHUNKED.len() {
            assert_eq!(parse_response(&CHUNKED[..end]).unwrap(), None);
        }
        assert_eq!(parse_response(CHUNKED).unwrap().unwrap().body, b"Hello, World!");
        assert!(unchunk(b"x\r\n").is_err());
    }

    #[test]
    fn an_answer_of_unknown_length_is_refused() {
        let error = parse_response(b"HTTP/1.1 200 OK\r\nDate: x\r\n\r\n").unwrap_err();
        assert!(error.to_string().starts_with("no Content-Length"), "{error}");
    }

    #[test]
    fn something_else_is_refused() {
        assert!(parse_response(b"SSH-2.0-OpenSSH\r\n\r\n").is_err());
    }
}
