//! Connections without a kernel: they say the same again and again, and whatever is sent to them has arrived.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tayet_net::{
    BatchedSend, Completion, Driver, Epoll, Listener, Moment, Outgoing, PeerAddress, Socket, Submitted,
    Token, Wake, Waker,
};

use crate::clock::thread_cpu;

/// Connections whose input is told of together, as the driver over epoll has received from as many.
const TOLD_TOGETHER: usize = 16;

/// A driver of such connections. They connect at once, and speak when a [`Prompter`] says so.
pub struct Canned {
    /// Whose clocks are used.
    epoll: Epoll,
    input: Vec<u8>,
    connections: usize,
    tokens: Vec<Token>,
    /// The first of `tokens` that has not been told of in this turn.
    cursor: usize,
    /// Turns to be taken, this one too.
    turns_left: u64,
    /// The loop's thread's CPU time when the first of these turns began.
    since: Duration,
    answered_bytes: u64,
    prompter: Arc<Prompter>,
}

/// Has the connections of a [`Canned`] speak.
#[derive(Default)]
pub struct Prompter {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    asked_turns: Option<u64>,
    answered: Option<Answered>,
    is_woken: bool,
}

/// What some turns came to.
#[derive(Clone, Copy, Debug)]
pub struct Answered {
    /// CPU time of the loop's thread.
    pub took: Duration,
    /// Bytes of the answers.
    pub bytes: u64,
}

impl Canned {
    /// So many connections, each of which sends `input` in a turn.
    ///
    /// # Errors
    ///
    /// When the process is out of descriptors.
    pub fn new(connections: usize, input: Vec<u8>) -> io::Result<Self> {
        Ok(Self {
            epoll: Epoll::new()?,
            input,
            connections,
            tokens: Vec::with_capacity(connections),
            cursor: 0,
            turns_left: 0,
            since: Duration::ZERO,
            answered_bytes: 0,
            prompter: Arc::default(),
        })
    }

    /// Who has the connections speak.
    pub fn prompter(&self) -> Arc<Prompter> {
        Arc::clone(&self.prompter)
    }

    fn are_all_connected(&self) -> bool {
        self.tokens.len() == self.connections
    }

    /// All of this turn's input has been told of, and what was answered has been sent: the loop has come back to wait.
    fn end_turn(&mut self) {
        self.turns_left -= 1;
        if self.turns_left > 0 {
            self.cursor = 0;
        } else {
            let took = thread_cpu() - self.since;
            self.prompter.report(Answered { took, bytes: std::mem::take(&mut self.answered_bytes) });
        }
    }
}

impl Prompter {
    /// Has each connection speak in so many turns, one or more; returns when all is answered.
    pub fn take_turns(&self, turns: u64) -> Answered {
        let mut state = self.lock();
        state.asked_turns = Some(turns);
        self.changed.notify_all();
        loop {
            if let Some(answered) = state.answered.take() {
                return answered;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn report(&self, answered: Answered) {
        self.lock().answered = Some(answered);
        self.changed.notify_all();
    }

    /// Waits until turns are asked for; `None` when the loop is to look around before.
    fn await_turns(&self, timeout: Option<Duration>) -> Option<u64> {
        let is_quiet = |state: &mut State| state.asked_turns.is_none() && !state.is_woken;
        let timeout = timeout.unwrap_or(Duration::MAX);
        let waited = self.changed.wait_timeout_while(self.lock(), timeout, is_quiet);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.is_woken = false;
        state.asked_turns.take()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Prompter {
    fn wake(&self) {
        self.lock().is_woken = true;
        self.changed.notify_all();
    }
}

impl Driver for Canned {
    fn listen(&mut self, _: usize, _: Arc<Listener>) -> io::Result<()> {
        Ok(())
    }

    fn set_accepting(&mut self, _: bool) {}

    fn stop_accepting(&mut self) {}

    fn attach(&mut self, token: Token) -> io::Result<()> {
        self.tokens.push(token);
        self.cursor = self.tokens.len();
        Ok(())
    }

    fn take_accepted(&mut self) -> Option<OwnedFd> {
        None
    }

    fn put_accepted(&mut self, _: OwnedFd) {}

    fn set_receiving(&mut self, _: Token, _: bool) {}

    fn lend_receiving(&mut self, _: Token) -> bool {
        false
    }

    fn send(&mut self, _: Token, outgoing: &mut Outgoing) -> Submitted {
        let count = outgoing.remaining();
        outgoing.sent += count;
        self.answered_bytes += count as u64;
        Submitted::Done(Ok(count))
    }

    fn send_batch(&mut self, sends: &mut [BatchedSend]) {
        for send in sends {
            send.sent = send.bytes.len();
            self.answered_bytes += send.sent as u64;
        }
    }

    fn await_writable(&mut self, _: Token) {}

    fn shutdown_send(&mut self, _: Token) {}

    fn detach(&mut self, _: Token) {}

    fn socket(&self, _: Token) -> Option<Arc<dyn Socket>> {
        Some(Arc::new(Sink))
    }

    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        if self.cursor < self.tokens.len() || !self.are_all_connected() {
            return Ok(());
        }
        if self.turns_left > 0 {
            self.end_turn();
        }
        if self.turns_left == 0
            && let Some(turns) = self.prompter.await_turns(timeout)
        {
            (self.turns_left, self.cursor, self.since) = (turns, 0, thread_cpu());
        }
        Ok(())
    }

    fn next(&mut self) -> Option<Completion> {
        if !self.are_all_connected() {
            return Some(Completion::Accepted { listener: 0, peer: PeerAddress::Unix });
        }
        let token = *self.tokens.get(self.cursor)?;
        self.cursor += 1;
        Some(Completion::Received(token, self.input.len()))
    }

    fn received(&self) -> &[u8] {
        &self.input
    }

    fn received_ahead(&self) -> &[Token] {
        let end = self.cursor.next_multiple_of(TOLD_TOGETHER).min(self.tokens.len());
        &self.tokens[self.cursor..end]
    }

    fn waker(&self) -> Waker {
        Arc::clone(&self.prompter) as Waker
    }

    fn now(&mut self) -> Moment {
        self.epoll.now()
    }

    fn now_roughly(&mut self) -> Moment {
        self.epoll.now_roughly()
    }
}

/// A socket that takes everything.
struct Sink;

impl Socket for Sink {
    fn send(&self, head: &[u8], tail: &[u8]) -> io::Result<usize> {
        Ok(head.len() + tail.len())
    }

    fn wait_writable(&self, _: Duration) -> io::Result<()> {
        Ok(())
    }

    fn shutdown(&self) {}
}
