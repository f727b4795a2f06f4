//! Tells whoever watches what is being measured and how long it will still take.

use std::io::Write;
use std::time::{Duration, Instant};

/// How far the whole has come.
pub(super) struct Progress {
    started: Instant,
    done: usize,
    total: usize,
}

impl Progress {
    pub(super) fn new(total: usize) -> Self {
        Self { started: Instant::now(), done: 0, total }
    }

    /// Says what begins now.
    pub(super) fn begin(&self, what: &str) {
        let left = time_left(self.started.elapsed(), self.done, self.total);
        print!("[{}/{}{left}] {what} ... ", self.done + 1, self.total);
        // Only whoever watches is at a loss if this fails.
        let _ = std::io::stdout().flush();
    }

    /// Says something in between.
    pub(super) fn note(&self, note: &str) {
        print!("({note}) ");
        let _ = std::io::stdout().flush();
    }

    /// Says what came of it; failures stand out.
    pub(super) fn end(&mut self, outcome: &Result<String, String>) {
        self.done += 1;
        match outcome {
            Ok(summary) => println!("{summary}"),
            Err(reason) => println!("FAILED: {reason}"),
        }
    }
}

/// Assumes that what is left takes as long a step as what is done.
fn time_left(elapsed: Duration, done: usize, total: usize) -> String {
    if done == 0 {
        return String::new();
    }
    let left = elapsed.as_secs_f64() / done as f64 * (total - done) as f64;
    if left < 90.0 { format!(", {left:.0} s left") } else { format!(", {:.0} min left", left / 60.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_the_time_taken() {
        assert_eq!(time_left(Duration::from_secs(5), 0, 10), "");
        assert_eq!(time_left(Duration::from_secs(10), 5, 10), ", 10 s left");
        assert_eq!(time_left(Duration::from_secs(60), 10, 100), ", 9 min left");
    }
}
