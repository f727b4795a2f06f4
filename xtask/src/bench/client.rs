//! A client for what the load generator cannot do: to ask once, to be on time, to stay and say nothing.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, bail, ensure};

/// Larger than any answer's head and any body that this client asks for.
const MAX_RESPONSE_BYTES: usize = 256 * 1024;

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
    pub(super) body: Vec<u8>,
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
        self.stream.write_all(closing_request_text(path, self.address).as_bytes()).context("sending")?;
        self.receive()?;
        match self.stream.read(&mut [0; 1]) {
            Ok(count) => Ok(count == 0),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(false),
            Err(error) => Err(error).context("waiting for the close"),
        }
    }
}

/// Byte for byte what wrk sends, so that a server which only counts bytes takes both for the same.
pub(super) fn request_text(path: &str, address: SocketAddr) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n")
}

fn closing_request_text(path: &str, address: SocketAddr) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")
}

/// Nothing while there is more to come.
fn parse_response(received: &[u8]) -> anyhow::Result<Option<Response>> {
    let Some(head_end) = received.windows(4).position(|window| window == b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = std::str::from_utf8(&received[..head_end]).context("the head is not text")?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.with_context(|| format!("no status in {head:?}"))?;
    let body = &received[head_end + 4..];
    let Some(length) = content_length(head) else { bail!("no Content-Length in {head:?}") };
    Ok((body.len() >= length).then(|| Response { status, body: body[..length].to_vec() }))
}

fn content_length(head: &str) -> Option<usize> {
    head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        if name.eq_ignore_ascii_case("content-length") { value.trim().parse().ok() } else { None }
    })
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
        assert_eq!(parse_response(ANSWER).unwrap(), Some(Response { status: 200, body: b"Hello".to_vec() }));
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
