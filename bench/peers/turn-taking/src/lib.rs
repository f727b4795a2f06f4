//! What loads that take short turns have in common: they keep connections to several servers open, and put a load to one of them at
//! a time. Whoever started them steers them: lines in, lines of JSON out.

use std::io;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde::Serialize;

/// The longest turn.
const MAX_TURN_MS: u64 = 60_000;

/// What happened, each on a line of its own.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Event {
    /// Connections to all servers together.
    Opened { connections: usize },
    /// From the first that was sent to the last that came back.
    Loaded { answers: u64, seconds: f64 },
    /// The load ends with this.
    Failed { error: String },
}

/// Whom to load, and for how long.
#[derive(PartialEq, Eq, Debug)]
struct Turn {
    server: usize,
    duration: Duration,
}

/// Says that all connections are open. Then each line of the standard input, `load SERVER MILLISECONDS`, has `load` put a load to the
/// server of that number, for so long, and wait for what is still on its way. How much was answered is what it returns, and is printed.
/// Ends with the input.
pub fn take_turns(
    connections: usize,
    servers: usize,
    mut load: impl FnMut(usize, Duration) -> anyhow::Result<u64>,
) -> anyhow::Result<()> {
    Event::Opened { connections }.print()?;
    for line in io::stdin().lines() {
        let Turn { server, duration } = Turn::parse(&line?, servers)?;
        let start = Instant::now();
        let answers = load(server, duration)?;
        Event::Loaded { answers, seconds: start.elapsed().as_secs_f64() }.print()?;
    }
    Ok(())
}

/// Says why the load ends. Whoever has started it reads its lines, if anybody does.
pub fn tell_failure(error: &anyhow::Error) {
    let _ = Event::Failed { error: format!("{error:#}") }.print();
}

impl Event {
    fn print(&self) -> anyhow::Result<()> {
        println!("{}", serde_json::to_string(self)?);
        Ok(())
    }
}

impl Turn {
    /// Reads `load SERVER MILLISECONDS`, where there are so many servers.
    fn parse(line: &str, servers: usize) -> anyhow::Result<Self> {
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
        let expected = Turn { server: 1, duration: Duration::from_millis(200) };
        assert_eq!(Turn::parse("load 1 200", 2).unwrap(), expected);
        for wrong in ["", "load", "load 2 200", "load -1 200", "load 0 60001", "load 0 200 x", "stop 0 200"] {
            assert!(Turn::parse(wrong, 2).is_err(), "{wrong}");
        }
    }
}
