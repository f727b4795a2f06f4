//! What a client has seen.

use std::time::Duration;

use crate::{Answer, MalformedAnswer};

/// What a client has received and how its connection ended.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    /// All bytes, in order.
    pub bytes: Vec<u8>,
    /// The end, once the client has seen it.
    pub end: Option<End>,
    /// When how many of the bytes had come.
    arrivals: Vec<(Duration, usize)>,
    /// How many whole answers are in `bytes`, and where the last of them ends.
    whole: (usize, usize),
}

/// How a connection ended, and when, since the start of the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The server ended its sending direction, behind all that it had sent.
    Ended(Duration),
    /// The connection was reset; what the client had not read by then is lost.
    Reset(Duration),
}

impl End {
    /// When it was seen.
    pub fn at(self) -> Duration {
        match self {
            Self::Ended(at) | Self::Reset(at) => at,
        }
    }
}

impl Transcript {
    /// The whole answers, in order. `is_head` says of each, by its number among all (`100 Continue` counts, other interim
    /// ones don't), whether a HEAD asked for it.
    ///
    /// # Errors
    ///
    /// When something is not HTTP.
    pub fn answers(&self, is_head: impl Fn(usize) -> bool) -> Result<Vec<Answer>, MalformedAnswer> {
        let mut answers = Vec::new();
        let mut rest = &self.bytes[..];
        let mut number = 0;
        while let Some((answer, length)) = Answer::parse(rest, is_head(number), self.end.is_some())? {
            rest = &rest[length..];
            number += usize::from(!answer.is_hint());
            answers.push(answer);
        }
        Ok(answers)
    }

    /// When byte `index` came.
    pub fn arrived_at(&self, index: usize) -> Option<Duration> {
        self.arrivals.iter().find(|(_, length)| *length > index).map(|(at, _)| *at)
    }

    pub(crate) fn receive(&mut self, at: Duration, bytes: impl Iterator<Item = u8>) {
        self.bytes.extend(bytes);
        self.arrivals.push((at, self.bytes.len()));
    }

    /// How many whole answers have come that are no hints, none of them to HEAD; what is not HTTP ends the count.
    pub(crate) fn whole_answers(&mut self) -> usize {
        let (count, at) = &mut self.whole;
        while let Ok(Some((answer, length))) = Answer::parse(&self.bytes[*at..], false, self.end.is_some()) {
            *count += usize::from(!answer.is_hint());
            *at += length;
        }
        *count
    }
}
