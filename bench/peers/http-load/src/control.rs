//! How whoever started the load steers it: lines in, lines of JSON out.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde::Serialize;

/// The longest turn.
const MAX_TURN_MS: u64 = 60_000;

/// What happened, each on a line of its own.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Connections to all servers together.
    Opened { connections: usize },
    /// From the first request to the last answer.
    Loaded { requests: u64, seconds: f64 },
    /// The load ends with this.
    Failed { error: String },
}

/// Whom to load, and for how long.
#[derive(PartialEq, Eq, Debug)]
pub struct Command {
    pub server: usize,
    pub duration: Duration,
}

impl Event {
    pub fn print(&self) -> anyhow::Result<()> {
        println!("{}", serde_json::to_string(self)?);
        Ok(())
    }
}

impl Command {
    /// Reads `load SERVER MILLISECONDS`, where there are so many servers.
    pub fn parse(line: &str, servers: usize) -> anyhow::Result<Self> {
        let words: Vec<_> = line.split_whitespace().collect();
        let ["load", server, milliseconds] = words[..] else {
            anyhow::bail!("{line:?} instead of `load SERVER MILLISECONDS`")
        };
        let server = server.parse().with_context(|| format!("{server:?} is no server's number"))?;
        ensure!(server < servers, "there is no server {server}");
        let milliseconds =
            milliseconds.parse().with_context(|| format!("{milliseconds:?} is no number of milliseconds"))?;
        ensure!(milliseconds <= MAX_TURN_MS, "a turn lasts {MAX_TURN_MS} ms at most");
        Ok(Self { server, duration: Duration::from_millis(milliseconds) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_has_a_server_and_a_time() {
        let expected = Command { server: 1, duration: Duration::from_millis(200) };
        assert_eq!(Command::parse("load 1 200", 2).unwrap(), expected);
        for wrong in ["", "load", "load 2 200", "load -1 200", "load 0 60001", "load 0 200 x", "stop 0 200"] {
            assert!(Command::parse(wrong, 2).is_err(), "{wrong}");
        }
    }
}
