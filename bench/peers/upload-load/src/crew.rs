//! Connections that all begin at the same moment, a thread for each.

use std::net::SocketAddr;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde::Serialize;

use crate::connection::Connection;

const STACK_BYTES: usize = 128 * 1024;

pub struct Crew {
    pub address: SocketAddr,
    pub connections: usize,
    pub duration: Duration,
    pub max_uploads: u32,
}

/// How long each upload took, and all of them together.
pub struct Outcome {
    uploads: Vec<Duration>,
    elapsed: Duration,
}

#[derive(Serialize)]
pub struct Report {
    uploads: usize,
    bytes: u64,
    seconds: f64,
    p50_us: u64,
    p99_us: u64,
}

impl Crew {
    /// Has each connection do one `upload` after the other.
    pub fn run(
        &self,
        upload: impl Fn(&mut Connection) -> anyhow::Result<()> + Sync,
    ) -> anyhow::Result<Outcome> {
        let connections: Vec<_> = (0..self.connections)
            .map(|_| Connection::open(self.address).context("connecting"))
            .collect::<anyhow::Result<_>>()?;
        let start = Barrier::new(self.connections);
        let work = |mut connection: Connection| {
            start.wait();
            self.repeat(|| upload(&mut connection))
        };
        let done: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = connections
                .into_iter()
                .map(|connection| {
                    let builder = thread::Builder::new().stack_size(STACK_BYTES);
                    builder.spawn_scoped(scope, || work(connection)).expect("there are threads enough")
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
        });
        let done: Vec<Share> = done.into_iter().collect::<anyhow::Result<_>>()?;
        let began = done.iter().map(|share| share.began).min().context("there are no connections")?;
        let ended = done.iter().map(|share| share.ended).max().context("there are no connections")?;
        let mut uploads: Vec<_> = done.into_iter().flat_map(|share| share.uploads).collect();
        uploads.sort();
        Ok(Outcome { uploads, elapsed: ended - began })
    }

    fn repeat(&self, mut upload: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<Share> {
        let began = Instant::now();
        let (mut ended, mut uploads) = (began, Vec::new());
        while uploads.len() < self.max_uploads as usize && began.elapsed() < self.duration {
            upload()?;
            uploads.push(ended.elapsed());
            ended = Instant::now();
        }
        Ok(Share { began, ended, uploads })
    }
}

/// What one connection did.
struct Share {
    began: Instant,
    ended: Instant,
    uploads: Vec<Duration>,
}

impl Outcome {
    pub fn report(&self, bytes: u64) -> Report {
        let percentile = |percent: usize| {
            let index = (self.uploads.len() * percent / 100).min(self.uploads.len() - 1);
            self.uploads[index].as_micros() as u64
        };
        Report {
            uploads: self.uploads.len(),
            bytes: self.uploads.len() as u64 * bytes,
            seconds: self.elapsed.as_secs_f64(),
            p50_us: percentile(50),
            p99_us: percentile(99),
        }
    }
}
