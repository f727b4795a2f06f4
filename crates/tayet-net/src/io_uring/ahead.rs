//! What the kernel has received and the driver's owner knows of, but has not been told.

use std::collections::VecDeque;

use super::sys::Filled;
use crate::{Token, arrivals};

/// Connections of which bytes are gathered: as many as answers that are sent together.
pub(super) const MOST: usize = 64;

/// Bytes of several connections, each in a buffer of the ring. They are gathered before the first is told of, and no more are until all
/// have been.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// From whom they are; those told of are in front.
    tokens: Vec<Token>,
    /// Where, of those that have not been told of.
    filled: VecDeque<Filled>,
    bytes: usize,
    gathering: Gathering,
}

/// Tells apart what is gathered from what was before. It wraps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Gathering(u32);

impl Ahead {
    /// All has been told of, and others come.
    pub(super) fn begin(&mut self) {
        debug_assert!(self.filled.is_empty(), "something would be lost");
        self.tokens.clear();
        self.bytes = 0;
        self.gathering = Gathering(self.gathering.0.wrapping_add(1));
    }

    pub(super) fn gathering(&self) -> Gathering {
        self.gathering
    }

    pub(super) fn add(&mut self, token: Token, filled: Filled) {
        self.bytes += filled.len();
        self.tokens.push(token);
        self.filled.push_back(filled);
    }

    /// Whether something is to be told before more is gathered.
    pub(super) fn are_enough(&self) -> bool {
        self.tokens.len() >= MOST || self.bytes >= arrivals::ENOUGH_BYTES
    }

    pub(super) fn is_empty(&self) -> bool {
        self.filled.is_empty()
    }

    /// Of whom there is something to tell.
    pub(super) fn untold(&self) -> &[Token] {
        &self.tokens[self.tokens.len() - self.filled.len()..]
    }

    /// Where that lies.
    pub(super) fn filled(&self) -> impl Iterator<Item = &Filled> {
        self.filled.iter()
    }

    /// The next to tell of.
    pub(super) fn tell(&mut self) -> Option<(Token, Filled)> {
        let token = *self.untold().first()?;
        Some((token, self.filled.pop_front()?))
    }

    /// Has nothing told of this connection any more, and gives what there was.
    pub(super) fn forget(&mut self, token: Token) -> Option<Filled> {
        let place = self.untold().iter().position(|untold| *untold == token)?;
        self.tokens.remove(self.tokens.len() - self.filled.len() + place);
        self.filled.remove(place)
    }
}
