//! What a driver has received and not told of yet.

use std::ops::Range;

use crate::Token;

/// Connections that are received from before the first of them is told of. Few enough that what they sent, and what they are
/// answered, stays in the nearest cache; enough that the code which the kernel runs to receive is fetched for all of them once, and
/// so is the code that answers.
pub(crate) const MOST: usize = 16;

/// Bytes behind which nothing more is received ahead: more had better be looked at while it is in a near cache, and the next
/// connection is to find room for a large read.
pub(crate) const ENOUGH_BYTES: usize = 32 * 1024;

/// Bytes of several connections, one behind the other in a buffer that all connections of a driver share.
#[derive(Debug)]
pub(crate) struct Arrivals {
    buffer: Vec<u8>,
    /// From whom they are.
    tokens: Vec<Token>,
    /// Of each connection, where in the buffer its bytes end.
    ends: Vec<usize>,
    /// The first that has not been told of.
    cursor: usize,
    /// Where the bytes lie that were told of last.
    told: Range<usize>,
}

impl Arrivals {
    /// With room for so many bytes.
    pub(crate) fn new(capacity_bytes: usize) -> Self {
        Self {
            buffer: Vec::with_capacity(capacity_bytes),
            tokens: Vec::with_capacity(MOST),
            ends: Vec::with_capacity(MOST),
            cursor: 0,
            told: 0..0,
        }
    }

    /// Forgets all that was told of, once all is.
    #[inline]
    pub(crate) fn clear(&mut self) {
        debug_assert!(self.untold().is_empty(), "something would be lost");
        self.buffer.clear();
        self.tokens.clear();
        self.ends.clear();
        self.cursor = 0;
        self.told = 0..0;
    }

    /// Where the next bytes are to be appended. [`Arrivals::add`] follows.
    #[inline]
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// What was appended last has come from this connection.
    #[inline]
    pub(crate) fn add(&mut self, token: Token) {
        self.tokens.push(token);
        self.ends.push(self.buffer.len());
    }

    /// Whether no more is to be received before something is told of.
    #[inline]
    pub(crate) fn are_enough(&self) -> bool {
        self.tokens.len() >= MOST || self.buffer.len() >= ENOUGH_BYTES
    }

    /// Tells of the next: from whom, and how many bytes.
    #[inline]
    pub(crate) fn tell(&mut self) -> Option<(Token, usize)> {
        let token = *self.tokens.get(self.cursor)?;
        let end = *self.ends.get(self.cursor)?;
        self.cursor += 1;
        self.told = self.told.end..end;
        Some((token, self.told.len()))
    }

    /// The bytes that were told of last.
    #[inline]
    pub(crate) fn told(&self) -> &[u8] {
        &self.buffer[self.told.clone()]
    }

    /// Of whom there is something to tell.
    #[inline]
    pub(crate) fn untold(&self) -> &[Token] {
        &self.tokens[self.cursor..]
    }

    /// Has nothing told of this connection any more.
    pub(crate) fn forget(&mut self, token: Token) {
        let untold = self.untold().iter().position(|untold| *untold == token);
        let Some(place) = untold.map(|position| self.cursor + position) else { return };
        let end = self.ends[place];
        let start = if place > self.cursor { self.ends[place - 1] } else { self.told.end };
        self.buffer.drain(start..end);
        self.tokens.remove(place);
        self.ends.remove(place);
        self.ends[place..].iter_mut().for_each(|later| *later -= end - start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(index: u32) -> Token {
        Token { index, generation: 0 }
    }

    fn receive(arrivals: &mut Arrivals, index: u32, bytes: &[u8]) {
        arrivals.buffer().extend_from_slice(bytes);
        arrivals.add(token(index));
    }

    #[test]
    fn each_is_told_of_in_its_turn_and_its_bytes_are_its_own() {
        let mut arrivals = Arrivals::new(2 * ENOUGH_BYTES);
        receive(&mut arrivals, 1, b"one");
        receive(&mut arrivals, 2, b"another");
        assert!(arrivals.untold() == [token(1), token(2)] && arrivals.told().is_empty());
        assert_eq!((arrivals.tell(), arrivals.told()), (Some((token(1), 3)), &b"one"[..]));
        assert_eq!(arrivals.untold(), [token(2)]);
        assert_eq!((arrivals.tell(), arrivals.told()), (Some((token(2), 7)), &b"another"[..]));
        assert!(arrivals.tell().is_none() && arrivals.untold().is_empty());
    }

    #[test]
    fn those_that_are_forgotten_leave_the_others_their_bytes() {
        for forgotten in 1..=4 {
            let mut arrivals = Arrivals::new(2 * ENOUGH_BYTES);
            receive(&mut arrivals, 0, b"told");
            assert!(arrivals.tell().is_some());
            let all = [(1, &b"one"[..]), (2, b"another"), (3, b"a third")];
            all.iter().for_each(|(index, bytes)| receive(&mut arrivals, *index, bytes));
            arrivals.forget(token(forgotten));
            assert_eq!(arrivals.told(), b"told");
            for (index, bytes) in all.into_iter().filter(|(index, _)| *index != forgotten) {
                assert_eq!((arrivals.tell(), arrivals.told()), (Some((token(index), bytes.len())), bytes));
            }
            assert!(arrivals.tell().is_none());
        }
    }

    #[test]
    fn so_many_connections_are_enough_and_so_many_bytes() {
        let mut arrivals = Arrivals::new(2 * ENOUGH_BYTES);
        (1..MOST as u32).for_each(|index| receive(&mut arrivals, index, b"x"));
        assert!(!arrivals.are_enough());
        receive(&mut arrivals, 0, b"x");
        assert!(arrivals.are_enough());

        let mut arrivals = Arrivals::new(2 * ENOUGH_BYTES);
        receive(&mut arrivals, 1, &[0; ENOUGH_BYTES - 1]);
        assert!(!arrivals.are_enough());
        receive(&mut arrivals, 2, b"x");
        assert!(arrivals.are_enough());
    }
}
