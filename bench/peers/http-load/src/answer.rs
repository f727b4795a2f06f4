//! What a server answers: how long it is, and how it begins.

use std::io::Read;
use std::net::TcpStream;

use anyhow::{Context, ensure};

/// How every answer must begin.
pub const BEGINNING: &[u8] = b"HTTP/1.1 200 ";
/// Larger than any answer that is asked for.
const MAX_BYTES: usize = 64 * 1024;

/// Reads one answer, which must have a `Content-Length`, and tells how many bytes it has.
pub fn read_length(stream: &mut TcpStream) -> anyhow::Result<usize> {
    let mut received = Vec::new();
    loop {
        if let Some(length) = length(&received)? {
            ensure!(received.len() <= length, "there is more than one answer");
            if received.len() == length {
                return Ok(length);
            }
        }
        let mut chunk = [0; 4096];
        let count = stream.read(&mut chunk).context("waiting for the first answer")?;
        ensure!(count > 0, "the server closed the connection before its first answer was complete");
        received.extend_from_slice(&chunk[..count]);
        ensure!(received.len() <= MAX_BYTES, "the answer is too long");
    }
}

/// Of the whole answer; nothing while its head is incomplete.
fn length(received: &[u8]) -> anyhow::Result<Option<usize>> {
    let Some(end) = received.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
    ensure!(received.starts_with(BEGINNING), "the answer is no 200");
    let head = std::str::from_utf8(&received[..end]).context("the head is no text")?;
    let body = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim())
    });
    let body: usize = body.context("the answer has no Content-Length")?.parse()?;
    ensure!(body <= MAX_BYTES, "the answer is too long");
    Ok(Some(end + 4 + body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_as_long_as_its_head_and_what_that_says() {
        let answer = b"HTTP/1.1 200 OK\r\ncontent-LENGTH: 5\r\n\r\nHello";
        assert_eq!(length(&answer[..30]).unwrap(), None);
        assert_eq!(length(answer).unwrap(), Some(answer.len()));
        assert_eq!(length(&answer[..answer.len() - 5]).unwrap(), Some(answer.len()));
    }

    #[test]
    fn what_has_no_length_or_another_status_is_refused() {
        assert!(length(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
        assert!(length(b"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n").is_err());
        assert!(length(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").is_err());
    }
}
