//! A hashed wheel of coarse deadlines.

use std::time::Duration;

use crate::Token;

/// The wheel's grain: deadlines are met up to this much late. 64 ms.
pub const TICK_MS: u64 = 64;

/// Ticks around the wheel; a deadline further ahead than this is looked at again when the wheel comes round.
const SLOTS: usize = 1024;

/// When to look at which connection again.
///
/// Re-arming is lazy: the owner keeps the true deadline and leaves the entry where it is when the deadline moves back;
/// when the entry comes up too early, the owner schedules it anew.
#[derive(Debug)]
pub struct TimerWheel {
    slots: Vec<Vec<Token>>,
    /// A bit for each slot that has entries.
    occupied: [u64; SLOTS / 64],
    entries: usize,
    /// The first tick that has not been handed out.
    next: u64,
}

impl TimerWheel {
    /// An empty wheel that starts at `now_ms`.
    pub fn new(now_ms: u64) -> Self {
        let slots = (0..SLOTS).map(|_| Vec::new()).collect();
        Self { slots, occupied: [0; SLOTS / 64], entries: 0, next: now_ms / TICK_MS }
    }

    /// Schedules a look at `token` at `deadline_ms` or, if that is further than the wheel reaches, earlier. Returns the
    /// tick at which it will come up, which identifies the entry.
    pub fn schedule(&mut self, token: Token, deadline_ms: u64) -> u64 {
        let tick = deadline_ms.div_ceil(TICK_MS).clamp(self.next, self.next + SLOTS as u64 - 1);
        let slot = tick as usize % SLOTS;
        self.slots[slot].push(token);
        self.occupied[slot / 64] |= 1 << (slot % 64);
        self.entries += 1;
        tick
    }

    /// Takes a batch of entries that are due at `now_ms` out, with their tick; `None` when there are no more.
    pub fn expire(&mut self, now_ms: u64) -> Option<(u64, Vec<Token>)> {
        let now = now_ms / TICK_MS;
        let Some(tick) = self.next_tick().filter(|tick| *tick <= now) else {
            self.next = self.next.max(now + 1);
            return None;
        };
        self.next = tick + 1;
        let slot = tick as usize % SLOTS;
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        let due = std::mem::take(&mut self.slots[slot]);
        self.entries -= due.len();
        Some((tick, due))
    }

    /// How long after `now_ms` the next entry comes up; `None` when there is none.
    pub fn next_in(&self, now_ms: u64) -> Option<Duration> {
        let tick = self.next_tick()?;
        Some(Duration::from_millis((tick * TICK_MS).saturating_sub(now_ms)))
    }

    /// The first tick, from `next` on, that has entries.
    fn next_tick(&self) -> Option<u64> {
        if self.entries == 0 {
            return None;
        }
        let first = self.next as usize % SLOTS;
        let words = self.occupied.len();
        // The first word comes up twice: its upper part at the start, its lower part at the end of the round.
        (0..=words).find_map(|step| {
            let at = (first / 64 + step) % words;
            let upper = u64::MAX << (first % 64);
            let mask = if step == 0 {
                upper
            } else if step == words {
                !upper
            } else {
                u64::MAX
            };
            let bits = self.occupied[at] & mask;
            let slot = at * 64 + bits.trailing_zeros() as usize;
            (bits != 0).then(|| self.next + ((slot + SLOTS - first) % SLOTS) as u64)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(index: u32) -> Token {
        Token { index, generation: 0 }
    }

    fn expire_all(wheel: &mut TimerWheel, now_ms: u64) -> Vec<u32> {
        std::iter::from_fn(|| wheel.expire(now_ms))
            .flat_map(|(_, due)| due)
            .map(|token| token.index)
            .collect()
    }

    #[test]
    fn entries_come_up_in_order_and_never_early() {
        let mut wheel = TimerWheel::new(1_000);
        wheel.schedule(token(2), 3_000);
        wheel.schedule(token(1), 2_000);
        assert_eq!(expire_all(&mut wheel, 1_999), []);
        assert_eq!(expire_all(&mut wheel, 2_000 + TICK_MS), [1]);
        assert_eq!(
            wheel.next_in(2_500),
            Some(Duration::from_millis(3_000u64.div_ceil(TICK_MS) * TICK_MS - 2_500))
        );
        assert_eq!(expire_all(&mut wheel, 60_000), [2]);
        assert_eq!(wheel.next_in(60_000), None);
    }

    #[test]
    fn a_deadline_beyond_the_wheel_comes_up_at_its_end() {
        let mut wheel = TimerWheel::new(0);
        let tick = wheel.schedule(token(1), 10_000_000);
        assert_eq!(tick, SLOTS as u64 - 1);
        assert_eq!(expire_all(&mut wheel, tick * TICK_MS), [1]);
    }

    #[test]
    fn a_deadline_in_the_past_comes_up_next() {
        let mut wheel = TimerWheel::new(100_000);
        wheel.schedule(token(1), 5);
        assert_eq!(expire_all(&mut wheel, 100_000), [1]);
    }

    #[test]
    fn an_idle_wheel_skips_ahead() {
        let mut wheel = TimerWheel::new(0);
        assert_eq!(expire_all(&mut wheel, u64::MAX / 2), []);
        wheel.schedule(token(9), u64::MAX / 2 + 1_000);
        assert_eq!(expire_all(&mut wheel, u64::MAX / 2 + 1_000 + TICK_MS), [9]);
    }
}
