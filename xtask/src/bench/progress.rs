//! Tells whoever watches what is being measured and how long it will still take.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use super::table::number;

const BAR_CELLS: u64 = 30;

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

/// How much of something there is already, drawn on one line.
pub(crate) struct Bar {
    unit: &'static str,
    total: u64,
}

impl Bar {
    pub(crate) fn new(unit: &'static str, total: u64) -> Self {
        Self { unit, total }
    }

    /// Draws the bar anew, with a remark behind it.
    pub(crate) fn show(&self, count: u64, remark: &str) {
        // Where no terminal takes it back to the line's beginning, each goes on a line of its own.
        let end = if std::io::stdout().is_terminal() { "\r" } else { "\n" };
        print!("{}{end}", draw(count, self.total, self.unit, remark));
        let _ = std::io::stdout().flush();
    }

    /// Leaves the bar as it is, and goes on below it.
    pub(crate) fn end(self) {
        if std::io::stdout().is_terminal() {
            println!();
        }
    }
}

fn draw(count: u64, total: u64, unit: &str, remark: &str) -> String {
    let full = (count * BAR_CELLS / total.max(1)).min(BAR_CELLS) as usize;
    let bar = format!("{}{}", "█".repeat(full), "░".repeat(BAR_CELLS as usize - full));
    format!("  {bar} {} of {} {unit}{remark}", number(count as f64, 0), number(total as f64, 0))
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
    fn a_bar_is_full_when_all_is_there() {
        let (half, full) = ("█".repeat(15), "█".repeat(30));
        let expected = format!("  {half}{} 500 of 1,000 sockets, fine", "░".repeat(15));
        assert_eq!(draw(500, 1000, "sockets", ", fine"), expected);
        assert_eq!(draw(1000, 1000, "sockets", ""), format!("  {full} 1,000 of 1,000 sockets"));
    }

    #[test]
    fn the_time_left_follows_from_the_time_taken() {
        assert_eq!(time_left(Duration::from_secs(5), 0, 10), "");
        assert_eq!(time_left(Duration::from_secs(10), 5, 10), ", 10 s left");
        assert_eq!(time_left(Duration::from_secs(60), 10, 100), ", 9 min left");
    }
}
