//! Ways from workers to a loop, which sleeps in its poller: the engine's, and what others would take.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::{Receiver, Sender};
use tayet_engine::measured::{Letter, Letters, Mail};
use tayet_net::Waker;

/// A mailbox with some posters and one receiver.
pub trait Post: Sync {
    /// Adds a letter and wakes the receiver, if need be.
    fn post(&self, letter: Letter);

    /// The receiver's, before it sleeps: whether it may.
    fn fall_asleep(&self) -> bool;

    /// The receiver's: takes what is there, and gives how much it was.
    fn take(&self) -> usize;
}

/// The engine's: a lock, and a wake-up only for who sleeps and has not been woken.
pub struct Tayet {
    mail: Mail,
    taken: Mutex<Letters>,
}

impl Tayet {
    /// For the receiver that `waker` wakes.
    pub fn new(waker: Waker) -> Self {
        Self { mail: Mail::new(waker), taken: Mutex::default() }
    }
}

impl Post for Tayet {
    fn post(&self, letter: Letter) {
        self.mail.post(letter);
    }

    fn fall_asleep(&self) -> bool {
        self.mail.fall_asleep()
    }

    fn take(&self) -> usize {
        let mut taken = self.taken.lock().expect("nobody panics here");
        self.mail.take(&mut taken);
        taken.clear()
    }
}

/// A list under a lock, and a wake-up for each letter.
pub struct Guarded {
    letters: Mutex<Vec<Letter>>,
    waker: Waker,
}

impl Guarded {
    /// For the receiver that `waker` wakes.
    pub fn new(waker: Waker) -> Self {
        Self { letters: Mutex::default(), waker }
    }
}

impl Post for Guarded {
    fn post(&self, letter: Letter) {
        self.letters.lock().expect("nobody panics here").push(letter);
        self.waker.wake();
    }

    fn fall_asleep(&self) -> bool {
        true
    }

    fn take(&self) -> usize {
        self.letters.lock().expect("nobody panics here").drain(..).count()
    }
}

/// A channel of crossbeam's, and a wake-up for each letter.
pub struct Crossbeam {
    sender: Sender<Letter>,
    receiver: Receiver<Letter>,
    waker: Waker,
}

impl Crossbeam {
    /// For the receiver that `waker` wakes.
    pub fn new(waker: Waker) -> Self {
        let (sender, receiver) = crossbeam_channel::unbounded();
        Self { sender, receiver, waker }
    }
}

impl Post for Crossbeam {
    fn post(&self, letter: Letter) {
        self.sender.send(letter).expect("the receiver is there");
        self.waker.wake();
    }

    fn fall_asleep(&self) -> bool {
        true
    }

    fn take(&self) -> usize {
        self.receiver.try_iter().count()
    }
}

/// The same with a flag that says whether the receiver sleeps: no lock, and no more wake-ups than the engine's.
pub struct Flagged {
    letters: Crossbeam,
    is_asleep: AtomicBool,
}

impl Flagged {
    /// For the receiver that `waker` wakes.
    pub fn new(waker: Waker) -> Self {
        Self { letters: Crossbeam::new(waker), is_asleep: AtomicBool::new(false) }
    }
}

impl Post for Flagged {
    fn post(&self, letter: Letter) {
        self.letters.sender.send(letter).expect("the receiver is there");
        if self.is_asleep.swap(false, Ordering::SeqCst) {
            self.letters.waker.wake();
        }
    }

    fn fall_asleep(&self) -> bool {
        self.is_asleep.store(true, Ordering::SeqCst);
        self.letters.receiver.is_empty()
    }

    fn take(&self) -> usize {
        self.is_asleep.store(false, Ordering::SeqCst);
        self.letters.take()
    }
}
