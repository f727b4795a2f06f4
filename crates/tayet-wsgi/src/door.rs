//! Where threads wait that are not to wait for the GIL yet.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Through which a bounded number of threads at a time goes to wait for the GIL.
///
/// Threads that wait for the GIL each ask its holder every 5 ms to let it go. With many of them, that is all that happens. With
/// only one, the GIL lies unused from when it is let go until that one has been woken and, once it has been, until the next
/// has: where a core is slow to wake, most of the time. So there are some.
pub(crate) struct Door {
    width: usize,
    crowd: Mutex<Crowd>,
    left: Condvar,
}

/// A thread's way through, until it is dropped.
pub(crate) struct Passage<'a>(&'a Door);

struct Crowd {
    inside: usize,
    outside: usize,
}

impl Door {
    /// For `width` threads at a time.
    pub(crate) const fn new(width: usize) -> Self {
        Self { width, crowd: Mutex::new(Crowd { inside: 0, outside: 0 }), left: Condvar::new() }
    }

    /// Waits until there is room.
    pub(crate) fn enter(&self) -> Passage<'_> {
        let mut crowd = self.crowd();
        while crowd.inside == self.width {
            crowd.outside += 1;
            crowd = self.left.wait(crowd).unwrap_or_else(PoisonError::into_inner);
            crowd.outside -= 1;
        }
        crowd.inside += 1;
        Passage(self)
    }

    fn crowd(&self) -> MutexGuard<'_, Crowd> {
        self.crowd.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Passage<'_> {
    fn drop(&mut self) {
        let mut crowd = self.0.crowd();
        crowd.inside -= 1;
        let is_awaited = crowd.outside > 0;
        drop(crowd);
        // A notification is a system call, whether there is somebody to hear it or not.
        if is_awaited {
            self.0.left.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const WIDTH: usize = 3;

    #[test]
    fn never_more_than_its_width_are_inside_and_all_get_there() {
        let (door, inside, passed) = (Door::new(WIDTH), AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 * WIDTH {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let _passage = door.enter();
                        assert!(inside.fetch_add(1, Ordering::SeqCst) < WIDTH);
                        std::thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                        passed.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(passed.into_inner(), 400 * WIDTH);
    }

    #[test]
    fn who_finds_no_room_goes_on_when_one_has_left() {
        let door = Door::new(1);
        let passage = door.enter();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| drop(door.enter()));
            while door.crowd().outside == 0 {
                std::thread::yield_now();
            }
            assert!(!waiting.is_finished());
            drop(passage);
        });
        assert_eq!(door.crowd().inside, 0);
    }
}
