//! All connections to one server, shared by threads.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};

use crate::answer;
use crate::connections::{ANSWER_LIMIT, Connections};

/// What is sent over how many connections.
pub struct Habits<'a> {
    pub path: &'a str,
    pub connections: u32,
    pub pipelined: u32,
    pub threads: u32,
}

pub struct ServerLoad {
    shares: Vec<Connections>,
}

impl ServerLoad {
    /// Opens the connections. What the server answers first tells how long each answer is to be.
    pub fn open(server: SocketAddr, habits: &Habits<'_>) -> anyhow::Result<Self> {
        let request = format!("GET {} HTTP/1.1\r\nHost: {server}\r\n\r\n", habits.path);
        let answer_bytes = ask_once(server, &request).with_context(|| format!("asking {server}"))?;
        let requests = request.repeat(habits.pipelined as usize).into_bytes();
        let share = |number: u32| {
            let count = (habits.connections - number).div_ceil(habits.threads);
            Connections::open(server, count, requests.clone(), answer_bytes, habits.pipelined)
        };
        let shares = (0..habits.threads).map(share).collect::<anyhow::Result<_>>()?;
        Ok(Self { shares })
    }

    /// Keeps every connection asking for `duration`, and waits for the last answers. How many there were.
    pub fn load(&mut self, duration: Duration) -> anyhow::Result<u64> {
        let end = Instant::now() + duration;
        thread::scope(|scope| {
            let threads: Vec<_> =
                self.shares.iter_mut().map(|share| scope.spawn(move || share.load(end))).collect();
            let answered = threads.into_iter().map(|thread| {
                thread.join().map_err(|_| anyhow!("a thread panicked")).and_then(|answered| answered)
            });
            answered.sum()
        })
    }
}

fn ask_once(server: SocketAddr, request: &str) -> anyhow::Result<usize> {
    let mut stream = TcpStream::connect(server)?;
    stream.set_read_timeout(Some(ANSWER_LIMIT))?;
    stream.write_all(request.as_bytes())?;
    answer::read_length(&mut stream)
}
