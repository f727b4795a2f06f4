//! A loop's mailbox: what other threads have to tell it, with one wake-up for any number of messages.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use tayet_net::{PeerAddress, Token, Waker};

use crate::connection::Answer;
use crate::fan_out::TopicWork;
use crate::report::Report;
use crate::sync::{Mutex, lock};

/// What a loop is told.
#[derive(Debug)]
pub(crate) enum Message {
    /// A handler's answer, to be sent by the loop.
    Answer { token: Token, exchange: u32, answer: Box<Answer> },
    /// A handler's answer has been made by another thread, and mostly sent.
    Answered(Report),
    /// A handler waits for more of its request's body.
    BodyWanted(Token),
    /// A handler that received its request's body itself is done with that, and how much it took.
    BodyReturned { token: Token, exchange: u32, bytes: u64 },
    /// Something about a session.
    Session(Token, SessionMail),
    /// A session joins or leaves a topic, or something is published to one.
    Topic(TopicWork),
    /// A connection that another loop has accepted, and by which listener.
    Accepted { listener: usize, address: PeerAddress, socket: OwnedFd },
    /// The server stops: no new connections, and the old ones end with the answer that they wait for.
    Drain,
}

/// What a loop is told about a session.
#[derive(Debug)]
pub(crate) enum SessionMail {
    /// Its handler is done; how long its call waited for a worker, if it did.
    Handled { waited_ns: Option<u64> },
    /// Its handler takes messages again.
    Resumed,
    /// More is to be sent than the kernel has taken.
    Flush,
    /// Somebody has said goodbye.
    Closing,
    /// More waits to be sent than may.
    Overflowed,
}

/// The mailbox of the engine's loops.
pub(crate) type Mailbox = Post<Message>;

/// Messages for one receiver, who sleeps elsewhere (in its poller) and is woken by a [`Waker`] when it does. Apart from other
/// receivers': its lock is taken every turn.
#[repr(align(128))]
pub(crate) struct Post<M> {
    state: Mutex<State<M>>,
    waker: Waker,
}

struct State<M> {
    messages: VecDeque<M>,
    is_asleep: bool,
}

impl<M> Post<M> {
    pub(crate) fn new(waker: Waker) -> Self {
        Self { state: Mutex::new(State { messages: VecDeque::new(), is_asleep: false }), waker }
    }

    /// Adds a message; wakes the receiver if it sleeps and has not been woken yet.
    pub(crate) fn post(&self, message: M) {
        self.post_unless(message, |_| false);
    }

    /// Adds a message and lets the receiver sleep on if `can_wait` says so, asked under the lock. The receiver then finds
    /// it when something else wakes it.
    pub(crate) fn post_unless(&self, message: M, can_wait: impl FnOnce(&M) -> bool) {
        let mut state = lock(&self.state);
        let wake = state.is_asleep && !can_wait(&message);
        state.messages.push_back(message);
        if wake {
            state.is_asleep = false;
        }
        drop(state);
        if wake {
            self.waker.wake();
        }
    }

    /// The receiver's, before it sleeps: `true` if it may; `false` if there are messages to take first.
    pub(crate) fn fall_asleep(&self) -> bool {
        let mut state = lock(&self.state);
        state.is_asleep = state.messages.is_empty();
        state.is_asleep
    }

    /// The receiver's, awake: takes all messages into `into`, which must be empty.
    pub(crate) fn take(&self, into: &mut VecDeque<M>) {
        debug_assert!(into.is_empty(), "these would come again");
        let mut state = lock(&self.state);
        state.is_asleep = false;
        std::mem::swap(&mut state.messages, into);
    }
}

impl<M> std::fmt::Debug for Post<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Post")
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tayet_net::Wake;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_sleeper_is_woken_once_and_a_waking_receiver_never() {
        let wakes = Arc::new(Count::default());
        let post = Post::new(Arc::clone(&wakes) as Waker);
        post.post(1);
        assert!(!post.fall_asleep());
        let mut taken = VecDeque::new();
        post.take(&mut taken);
        assert_eq!(taken, [1]);
        assert_eq!(wakes.0.load(Ordering::Relaxed), 0);

        assert!(post.fall_asleep());
        post.post(2);
        post.post(3);
        assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_message_that_can_wait_wakes_nobody() {
        let wakes = Arc::new(Count::default());
        let post = Post::new(Arc::clone(&wakes) as Waker);
        assert!(post.fall_asleep());
        post.post_unless(1, |_| true);
        assert_eq!(wakes.0.load(Ordering::Relaxed), 0);
        post.post(2);
        assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
        let mut taken = VecDeque::new();
        post.take(&mut taken);
        assert_eq!(taken, [1, 2]);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::sync::{Arc, Condvar, Mutex};
    use loom::thread;
    use tayet_net::Wake;

    use super::*;

    /// Stands for the eventfd and the poller that waits for it.
    struct Bell {
        rung: Mutex<bool>,
        changed: Condvar,
    }

    struct Ringer(Arc<Bell>);

    impl Wake for Ringer {
        fn wake(&self) {
            *self.0.rung.lock().unwrap() = true;
            self.0.changed.notify_one();
        }
    }

    /// The receiver sleeps until both messages have come, and is never left asleep with an urgent one unread. Loom fails
    /// the model if it deadlocks.
    #[test]
    fn loom_mailbox_loses_no_wake() {
        loom::model(|| {
            let bell = Arc::new(Bell { rung: Mutex::new(false), changed: Condvar::new() });
            let post: Arc<Post<u32>> =
                Arc::new(Post::new(std::sync::Arc::new(Ringer(Arc::clone(&bell))) as Waker));
            let senders = [1, 2].map(|message| {
                let post = Arc::clone(&post);
                thread::spawn(move || post.post(message))
            });
            let mut seen = 0;
            while seen < 2 {
                if post.fall_asleep() {
                    let mut rung = bell.rung.lock().unwrap();
                    while !*rung {
                        rung = bell.changed.wait(rung).unwrap();
                    }
                    *rung = false;
                }
                let mut taken = VecDeque::new();
                post.take(&mut taken);
                seen += taken.len();
            }
            for sender in senders {
                sender.join().unwrap();
            }
        });
    }

    /// A connection that the loop waits for: the loop marks it before it falls asleep, the worker looks at the mark under
    /// the mailbox's lock. The message must never be left lying.
    #[test]
    fn loom_mailbox_wakes_for_an_awaited_connection() {
        use loom::sync::atomic::{AtomicBool, Ordering};
        loom::model(|| {
            let bell = Arc::new(Bell { rung: Mutex::new(false), changed: Condvar::new() });
            let post: Arc<Post<u32>> =
                Arc::new(Post::new(std::sync::Arc::new(Ringer(Arc::clone(&bell))) as Waker));
            let awaited = Arc::new(AtomicBool::new(false));
            let worker = thread::spawn({
                let (post, awaited) = (Arc::clone(&post), Arc::clone(&awaited));
                move || post.post_unless(1, |_| !awaited.load(Ordering::Relaxed))
            });
            awaited.store(true, Ordering::Relaxed);
            if post.fall_asleep() {
                let mut rung = bell.rung.lock().unwrap();
                while !*rung {
                    rung = bell.changed.wait(rung).unwrap();
                }
            }
            let mut taken = VecDeque::new();
            post.take(&mut taken);
            assert_eq!(taken, [1]);
            worker.join().unwrap();
        });
    }
}
