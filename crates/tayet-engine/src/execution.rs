//! How handlers are given threads.

use std::fmt;
use std::str::FromStr;

/// Which threads run handlers.
///
/// # Examples
///
/// ```
/// use tayet_engine::ExecutionModel;
///
/// assert_eq!("thread-pool:8".parse(), Ok(ExecutionModel::ThreadPool { threads: 8 }));
/// assert_eq!(ExecutionModel::default(), ExecutionModel::TaskPool { max_threads: 512 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutionModel {
    /// On the loop's own thread; a handler that overruns keeps the thread and the loop goes on elsewhere. Routes that
    /// prove slow are handed to an elastic pool of at most `max_threads` threads (the loops' included). The default,
    /// with 512.
    TaskPool {
        /// Most threads, the loops' and the standby ones included.
        max_threads: usize,
    },
    /// Every handler on one of exactly `threads` threads beside the loops; thread-local state is stable.
    ThreadPool {
        /// Worker threads.
        threads: usize,
    },
    /// Every handler on its loop, which waits for it: for handlers that never block. Bodies that are streamed still get
    /// a worker while they last, since they wait for the loop.
    Inline,
}

/// Most threads of a [`ExecutionModel::TaskPool`] that names no number.
pub const DEFAULT_MAX_THREADS: usize = 512;

impl Default for ExecutionModel {
    fn default() -> Self {
        Self::TaskPool { max_threads: DEFAULT_MAX_THREADS }
    }
}

impl fmt::Display for ExecutionModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TaskPool { max_threads } => write!(f, "task-pool:{max_threads}"),
            Self::ThreadPool { threads } => write!(f, "thread-pool:{threads}"),
            Self::Inline => f.write_str("inline"),
        }
    }
}

impl FromStr for ExecutionModel {
    type Err = InvalidExecutionModel;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, count) = match text.split_once(':') {
            Some((name, count)) => match count.parse::<usize>() {
                Ok(count) if count > 0 => (name, Some(count)),
                _ => return Err(InvalidExecutionModel(text.to_owned())),
            },
            None => (text, None),
        };
        match (name, count) {
            ("task-pool", count) => Ok(Self::TaskPool { max_threads: count.unwrap_or(DEFAULT_MAX_THREADS) }),
            ("thread-pool", Some(threads)) => Ok(Self::ThreadPool { threads }),
            ("inline", None) => Ok(Self::Inline),
            _ => Err(InvalidExecutionModel(text.to_owned())),
        }
    }
}

/// A text that names no execution model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidExecutionModel(String);

impl fmt::Display for InvalidExecutionModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "'{}' is no execution model: task-pool, task-pool:THREADS, thread-pool:THREADS or inline",
            self.0
        )
    }
}

impl std::error::Error for InvalidExecutionModel {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_reads_what_it_writes() {
        for model in [
            ExecutionModel::TaskPool { max_threads: 3 },
            ExecutionModel::ThreadPool { threads: 100 },
            ExecutionModel::Inline,
        ] {
            assert_eq!(model.to_string().parse(), Ok(model));
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "thread-pool", "thread-pool:0", "thread-pool:x", "inline:3", "fibers"] {
            assert!(text.parse::<ExecutionModel>().is_err(), "{text} was taken");
        }
    }
}
