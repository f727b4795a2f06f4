//! Publish and reclaim: how a thread lends its loop away while it runs a handler.
//!
//! The thread that drives a loop publishes it in its [`Slot`], runs the handler, and takes the loop back. Meanwhile the
//! monitor may take it. One word decides: it counts the calls and says, in its lowest bit, whether the loop lies in the
//! cell. Whoever clears that bit by compare-and-swap owns the cell's content; since the count is in the same word, the
//! monitor can only take the loop from the very call that it saw overrun.
#![allow(unsafe_code, reason = "the cell is shared; the word says whose it is")]

use crate::sync::{AtomicU64, Ordering, UnsafeCell};

/// Where a thread lays its loop while it runs a handler. Each has a pair of cache lines to itself: it is written twice a call.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Slot<T> {
    /// Calls published so far, doubled; plus one while the value lies in the cell.
    word: AtomicU64,
    cell: UnsafeCell<Option<Box<T>>>,
}

/// A call during which the loop lay in its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Published(u64);

const LENT: u64 = 1;

impl<T> Slot<T> {
    pub(crate) fn new() -> Self {
        Self { word: AtomicU64::new(0), cell: UnsafeCell::new(None) }
    }

    /// The owner's: lays the value down, for others to take until [`Slot::reclaim`].
    ///
    /// Only the slot's own thread may call this, and only when nothing lies in it.
    pub(crate) fn publish(&self, value: Box<T>) -> Published {
        let word = self.word.load(Ordering::Relaxed);
        debug_assert_eq!(word & LENT, 0, "published twice");
        // SAFETY: the lent bit is clear, so nobody but the owner touches the cell: others touch it only after having
        // cleared the bit themselves. The one who cleared it last was done with the cell before the owner came here: it
        // was the owner itself, or a taker, after whom the owner does not publish in this slot again (see `reclaim`).
        self.cell.with_mut(|cell| unsafe { *cell = Some(value) });
        let published = Published((word + 2) | LENT);
        // Release: the value is in the cell before the bit says so.
        self.word.store(published.0, Ordering::Release);
        published
    }

    /// The owner's: takes the value back, or `None` if another has taken it. The slot is then spent: a new one is due.
    pub(crate) fn reclaim(&self, published: Published) -> Option<Box<T>> {
        self.take(published)
    }

    /// Another's: the call under way, if the value lies in the slot.
    pub(crate) fn published(&self) -> Option<Published> {
        let word = self.word.load(Ordering::Relaxed);
        (word & LENT != 0).then_some(Published(word))
    }

    /// Anybody's: takes the value if `published` is still under way.
    pub(crate) fn take(&self, published: Published) -> Option<Box<T>> {
        let cleared = published.0 & !LENT;
        // Acquire: the value that `publish` laid down is seen. Release would add nothing: the taker writes the cell only
        // after this, and nobody reads it before the next `publish`.
        self.word.compare_exchange(published.0, cleared, Ordering::Acquire, Ordering::Relaxed).ok()?;
        // SAFETY: this thread has just cleared the bit, which one thread alone can do for one publication, and until the
        // owner publishes again nobody else touches the cell. The owner publishes again only after its own `take`
        // succeeded (then it is this thread) and never after another's.
        self.cell.with_mut(|cell| unsafe { (*cell).take() })
    }
}

// SAFETY: the cell is touched only by who holds the right to it, as said above; the value itself moves between threads,
// hence `T: Send`.
unsafe impl<T: Send> Sync for Slot<T> {}
// SAFETY: the same, for the slot as a whole.
unsafe impl<T: Send> Send for Slot<T> {}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn what_is_published_comes_back() {
        let slot = Slot::new();
        let published = slot.publish(Box::new(7));
        assert_eq!(slot.published(), Some(published));
        assert_eq!(slot.reclaim(published).as_deref(), Some(&7));
        assert_eq!(slot.published(), None);
    }

    #[test]
    fn an_old_call_takes_nothing() {
        let slot = Slot::new();
        let first = slot.publish(Box::new(1));
        slot.reclaim(first).unwrap();
        let second = slot.publish(Box::new(2));
        assert!(slot.take(first).is_none());
        assert_eq!(slot.take(second).as_deref(), Some(&2));
        assert!(slot.reclaim(second).is_none());
    }

    #[test]
    fn stress_every_value_is_owned_once() {
        const CALLS: u64 = 200_000;
        let slot = Arc::new(Slot::new());
        let done = Arc::new(AtomicBool::new(false));
        let taker = std::thread::spawn({
            let (slot, done) = (Arc::clone(&slot), Arc::clone(&done));
            move || {
                loop {
                    if let Some(value) = slot.published().and_then(|published| slot.take(published)) {
                        return Some(*value);
                    }
                    if done.load(Ordering::Relaxed) {
                        return None;
                    }
                }
            }
        });
        let mut value = Box::new(0);
        let mut lost_at = None;
        for call in 0..CALLS {
            *value = call;
            let published = slot.publish(value);
            match slot.reclaim(published) {
                Some(back) => value = back,
                None => {
                    lost_at = Some(call);
                    break;
                }
            }
        }
        done.store(true, Ordering::Relaxed);
        assert_eq!(taker.join().unwrap(), lost_at);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// The owner and the monitor race for two calls; the loop is never in two hands and never lost.
    #[test]
    fn loom_slot_has_one_owner() {
        loom::model(|| {
            let slot = Arc::new(Slot::new());
            let monitor = thread::spawn({
                let slot = Arc::clone(&slot);
                move || slot.published().and_then(|published| slot.take(published)).map(|value| *value)
            });
            let mut kept = None;
            let mut value = Box::new(1);
            for call in 1..=2 {
                *value = call;
                let published = slot.publish(value);
                match slot.reclaim(published) {
                    Some(back) => {
                        kept = Some(*back);
                        value = back;
                    }
                    None => {
                        kept = None;
                        break;
                    }
                }
            }
            let taken = monitor.join().unwrap();
            assert!(kept.is_some() != taken.is_some(), "kept {kept:?}, taken {taken:?}");
        });
    }
}
