//! A connection that sends bodies which it makes up.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::LazyLock;
use std::time::Duration;

use anyhow::{Context, ensure};

use crate::answer::Answer;

/// Longest wait for a server that neither reads nor answers.
const SILENCE_LIMIT: Duration = Duration::from_secs(60);
/// How much is written at once, and after how much bodies repeat.
const PIECE_BYTES: usize = 256 * 1024;
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// Noise: a file system that compresses shall have nothing to win.
static PIECE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    std::iter::repeat_with(next).take(PIECE_BYTES / 8).flat_map(u64::to_le_bytes).collect()
});

pub struct Connection {
    stream: TcpStream,
    address: SocketAddr,
    received: Vec<u8>,
}

impl Connection {
    pub fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE_LIMIT))?;
        stream.set_write_timeout(Some(SILENCE_LIMIT))?;
        Ok(Self { stream, address, received: Vec::new() })
    }

    /// Sends a request with a body of `bytes`, and reads its answer. `fields` are lines, each with its end.
    pub fn exchange(&mut self, method: &str, path: &str, fields: &str, bytes: u64) -> anyhow::Result<Answer> {
        let address = self.address;
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {bytes}\r\n{fields}\r\n");
        match self.send(head.as_bytes(), bytes) {
            Ok(()) => self.receive(),
            // A server that refuses says why before it closes.
            Err(error) => match self.receive() {
                Ok(answer) => Err(error).with_context(|| format!("it answered early, {}", answer.status)),
                Err(_) => Err(error),
            },
        }
        .with_context(|| format!("{method} {path}"))
    }

    fn send(&mut self, head: &[u8], bytes: u64) -> anyhow::Result<()> {
        self.stream.write_all(head).context("sending")?;
        let mut left = bytes;
        while left > 0 {
            let piece = &PIECE[..left.min(PIECE_BYTES as u64) as usize];
            self.stream.write_all(piece).with_context(|| format!("sending, {left} bytes from the end"))?;
            left -= piece.len() as u64;
        }
        Ok(())
    }

    fn receive(&mut self) -> anyhow::Result<Answer> {
        self.received.clear();
        loop {
            if let Some(answer) = Answer::parse(&self.received)? {
                return Ok(answer);
            }
            ensure!(self.received.len() < MAX_ANSWER_BYTES, "the answer is too long");
            let mut piece = [0; 4096];
            let count = self.stream.read(&mut piece).context("waiting for the answer")?;
            ensure!(count > 0, "the server closed the connection before its answer was complete");
            self.received.extend_from_slice(&piece[..count]);
        }
    }
}
