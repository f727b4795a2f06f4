//! Running a test with many seeds.

/// The variable that names the one seed to run: what a failure prints.
const SEED: &str = "TAYET_SIM_SEED";

/// The variable that says how many seeds to run, in place of the test's own number.
const SEEDS: &str = "TAYET_SIM_SEEDS";

/// Runs `test` with the seeds from 0 up to `count`. If one panics, says how to run it alone: with the seed in
/// `TAYET_SIM_SEED`. A number in `TAYET_SIM_SEEDS` replaces `count`, for a longer search.
///
/// # Panics
///
/// When `test` does, and when one of the variables holds no number.
pub fn for_each_seed(count: u64, mut test: impl FnMut(u64)) {
    let mut run = |seed| {
        let told = TellSeed(seed);
        test(seed);
        drop(told);
    };
    match variable(SEED) {
        Some(seed) => run(seed),
        None => (0..variable(SEEDS).unwrap_or(count)).for_each(run),
    }
}

fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is '{text}', which is no number")))
}

/// Says which seed it was when a test panics.
struct TellSeed(u64);

impl Drop for TellSeed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {} failed; to run it alone: {SEED}={}", self.0, self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_runs_until_one_fails() {
        let mut seen = Vec::new();
        let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for_each_seed(10, |seed| {
                seen.push(seed);
                if seed == 3 {
                    std::panic::resume_unwind(Box::new("as asked"));
                }
            });
        }));
        assert!(failed.is_err());
        assert_eq!(seen, [0, 1, 2, 3]);
    }
}
