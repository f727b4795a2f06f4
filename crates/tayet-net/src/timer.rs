//! A hashed wheel of coarse deadlines.

use std::time::Duration;

use crate::Token;

/// The wheel's grain: deadlines are met up to this much late. 64 ms.
pub const TICK_MS: u64 = 64;

/// Ticks around the wheel; a deadline further ahead than this is looked at again when the wheel comes round.
const SLOTS: usize = 1024;

/// No entry: the end of a chain.
const NONE: u32 = u32::MAX;

/// When to look at which connection again.
///
/// Re-arming is lazy: the owner keeps the true deadline and leaves the entry where it is when the deadline moves back;
/// when the entry comes up too early, the owner schedules it anew.
#[derive(Debug)]
pub struct TimerWheel {
    /// Where each slot's chain begins. Four bytes a slot, since every loop has a wheel, and most of their slots are empty.
    slots: Box<[u32; SLOTS]>,
    /// A bit for each slot that has entries.
    occupied: [u64; SLOTS / 64],
    entries: Vec<Entry>,
    /// The chain of entries that are free.
    free: u32,
    /// How many are not.
    scheduled: usize,
    /// The first tick that has not come up.
    next: u64,
    /// The last tick that has.
    due_tick: u64,
    /// Its chain, as far as it is not handed out yet.
    due: u32,
}

#[derive(Debug)]
struct Entry {
    token: Token,
    /// The next in its chain.
    next: u32,
}

impl TimerWheel {
    /// An empty wheel that starts at `now_ms`.
    pub fn new(now_ms: u64) -> Self {
        Self {
            slots: Box::new([NONE; SLOTS]),
            occupied: [0; SLOTS / 64],
            entries: Vec::new(),
            free: NONE,
            scheduled: 0,
            next: now_ms / TICK_MS,
            due_tick: 0,
            due: NONE,
        }
    }

    /// Schedules a look at `token` at `deadline_ms` or, if that is further than the wheel reaches, earlier. Returns the
    /// tick at which it will come up, which identifies the entry.
    pub fn schedule(&mut self, token: Token, deadline_ms: u64) -> u64 {
        let tick = deadline_ms.div_ceil(TICK_MS).clamp(self.next, self.next + SLOTS as u64 - 1);
        let slot = tick as usize % SLOTS;
        self.slots[slot] = self.add(Entry { token, next: self.slots[slot] });
        self.occupied[slot / 64] |= 1 << (slot % 64);
        tick
    }

    /// Takes an entry that is due at `now_ms` out, with its tick; `None` when there are no more. What is scheduled meanwhile
    /// comes up later.
    pub fn expire(&mut self, now_ms: u64) -> Option<(u64, Token)> {
        if self.due == NONE && !self.advance(now_ms / TICK_MS) {
            return None;
        }
        let index = self.due;
        let entry = &mut self.entries[index as usize];
        self.due = std::mem::replace(&mut entry.next, self.free);
        self.free = index;
        self.scheduled -= 1;
        Some((self.due_tick, entry.token))
    }

    /// Has the next tick come up that has entries, if that is not after `now`.
    fn advance(&mut self, now: u64) -> bool {
        let Some(tick) = self.next_tick().filter(|tick| *tick <= now) else {
            self.next = self.next.max(now + 1);
            return false;
        };
        self.next = tick + 1;
        let slot = tick as usize % SLOTS;
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        self.due_tick = tick;
        self.due = std::mem::replace(&mut self.slots[slot], NONE);
        true
    }

    /// Gives an entry a place, and returns where.
    fn add(&mut self, entry: Entry) -> u32 {
        self.scheduled += 1;
        if self.free == NONE {
            self.entries.push(entry);
            return u32::try_from(self.entries.len() - 1).expect("there are fewer connections");
        }
        let index = self.free;
        self.free = std::mem::replace(&mut self.entries[index as usize], entry).next;
        index
    }

    /// How long after `now_ms` the next entry comes up; `None` when there is none.
    pub fn next_in(&self, now_ms: u64) -> Option<Duration> {
        let tick = self.next_tick()?;
        Some(Duration::from_millis((tick * TICK_MS).saturating_sub(now_ms)))
    }

    /// The first tick that has entries: one that has come up, or from `next` on.
    fn next_tick(&self) -> Option<u64> {
        if self.due != NONE {
            return Some(self.due_tick);
        }
        if self.scheduled == 0 {
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
        std::iter::from_fn(|| wheel.expire(now_ms)).map(|(_, token)| token.index).collect()
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
    fn what_is_scheduled_meanwhile_comes_up_later() {
        let mut wheel = TimerWheel::new(0);
        wheel.schedule(token(1), 100);
        wheel.schedule(token(2), 100);
        let (tick, first) = wheel.expire(1_000).unwrap();
        let again = wheel.schedule(first, 0);
        assert!(again > tick, "{again} {tick}");
        assert_eq!(wheel.next_in(1_000), Some(Duration::ZERO));
        let (_, second) = wheel.expire(1_000).unwrap();
        assert_eq!(first.index + second.index, 3);
        assert_eq!(expire_all(&mut wheel, 1_000), [first.index]);
    }

    #[test]
    fn places_are_used_again() {
        let mut wheel = TimerWheel::new(0);
        for round in 0..100 {
            for index in 0..10 {
                wheel.schedule(token(index), round * 1_000 + u64::from(index) * 100);
            }
            assert_eq!(expire_all(&mut wheel, round * 1_000 + 900 + TICK_MS), (0..10).collect::<Vec<_>>());
        }
        assert_eq!(wheel.entries.len(), 10);
        assert_eq!(wheel.next_in(0), None);
    }

    #[test]
    fn an_idle_wheel_skips_ahead() {
        let mut wheel = TimerWheel::new(0);
        assert_eq!(expire_all(&mut wheel, u64::MAX / 2), []);
        wheel.schedule(token(9), u64::MAX / 2 + 1_000);
        assert_eq!(expire_all(&mut wheel, u64::MAX / 2 + 1_000 + TICK_MS), [9]);
    }
}
