//! The state of a simulation: its clock, what is to come, and the connections.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::time::Duration;

use crate::client::{Client, Step};
use crate::wire::Wire;
use crate::{End, Faults, Random};

/// Everything that a simulation's handles share.
pub(crate) struct World {
    pub(crate) now: Duration,
    pub(crate) random: Random,
    pub(crate) faults: Faults,
    pub(crate) wires: Vec<Wire>,
    /// Clients that have connected and are not accepted.
    pub(crate) waiting: VecDeque<usize>,
    pub(crate) accepting: bool,
    pub(crate) is_listening: bool,
    /// When the process has no descriptors to give.
    pub(crate) exhausted: Option<(Duration, Duration)>,
    pub(crate) is_woken: bool,
    /// Waits that ended because their time was up.
    pub(crate) timeouts: u64,
    events: BTreeMap<(Duration, u64), Event>,
    scheduled: u64,
    /// How many events have come since the clock moved.
    at_once: u32,
}

/// Events that may come at one and the same time: more mean that they cause each other for ever.
const MAX_EVENTS_AT_A_TIME: u32 = 1_000_000;

pub(crate) type Call = Box<dyn FnOnce() + Send>;

/// What an event was.
pub(crate) enum Happened {
    /// The clients' own business, done.
    Client,
    /// The test's, to be done without the lock.
    Call(Call),
}

pub(crate) enum Event {
    Connect(usize),
    /// A client takes its next steps.
    Step(usize),
    /// A client reads.
    Read(usize),
    /// The test's own.
    Call(Call),
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            now: Duration::ZERO,
            random: Random::new(seed),
            faults: Faults::default(),
            wires: Vec::new(),
            waiting: VecDeque::new(),
            accepting: true,
            is_listening: true,
            exhausted: None,
            is_woken: false,
            timeouts: 0,
            events: BTreeMap::new(),
            scheduled: 0,
            at_once: 0,
        }
    }

    pub(crate) fn add_client(&mut self, client: Client) -> usize {
        let at = client.connects_at.max(self.now);
        let index = self.wires.len();
        self.wires.push(Wire::new(client));
        self.schedule(at, Event::Connect(index));
        index
    }

    pub(crate) fn schedule(&mut self, at: Duration, event: Event) {
        self.scheduled += 1;
        self.events.insert((at, self.scheduled), event);
    }

    /// Takes the first event up to `until` and moves the clock to it.
    pub(crate) fn take_event(&mut self, until: Duration) -> Option<Happened> {
        let entry = self.events.first_entry().filter(|entry| entry.key().0 <= until)?;
        let ((at, _), event) = entry.remove_entry();
        self.at_once = if at > self.now { 0 } else { self.at_once + 1 };
        assert!(self.at_once < MAX_EVENTS_AT_A_TIME, "time stands still");
        self.now = self.now.max(at);
        Some(self.happen(event))
    }

    /// The same, passing over the test's own events.
    pub(crate) fn take_client_event(&mut self, until: Duration) -> Option<()> {
        let is_clients = |event: &Event| !matches!(event, Event::Call(_));
        let (key, _) = self.events.range(..=(until, u64::MAX)).find(|(_, event)| is_clients(event))?;
        let key = *key;
        let event = self.events.remove(&key)?;
        self.now = self.now.max(key.0);
        self.happen(event);
        Some(())
    }

    fn happen(&mut self, event: Event) -> Happened {
        match event {
            Event::Connect(client) => self.connect(client),
            Event::Step(client) => self.take_steps(client),
            Event::Read(client) => {
                self.wires[client].is_read_scheduled = false;
                self.client_reads(client);
            }
            Event::Call(call) => return Happened::Call(call),
        }
        Happened::Client
    }

    fn connect(&mut self, client: usize) {
        if self.is_listening {
            self.waiting.push_back(client);
            self.take_steps(client);
        } else {
            self.drop_connection(client);
        }
    }

    /// The kernel refuses a connection, or drops one that nobody has accepted.
    pub(crate) fn drop_connection(&mut self, client: usize) {
        let now = self.now;
        let wire = &mut self.wires[client];
        wire.close(now);
        wire.client_reset(true);
        wire.transcript.end.get_or_insert(End::Reset(now));
    }

    /// A client goes on with its script until it waits.
    fn take_steps(&mut self, client: usize) {
        let now = self.now;
        loop {
            let loses_unreceived = self.random.chance(500);
            let wire = &mut self.wires[client];
            let Some(step) = wire.steps.pop_front() else { return };
            match step {
                Step::Send(bytes) => wire.client_send(now, bytes),
                Step::HalfClose => wire.client_half_close(),
                Step::Close => wire.client_close(),
                Step::Reset => wire.client_reset(loses_unreceived),
                Step::Wait(time) => {
                    self.schedule(now + time, Event::Step(client));
                    return;
                }
                Step::AwaitAnswers(count) => {
                    if wire.transcript.whole_answers() < count {
                        wire.steps.push_front(step);
                        wire.is_awaiting_answers = true;
                        return;
                    }
                }
            }
        }
    }

    fn client_reads(&mut self, client: usize) {
        let now = self.now;
        let wire = &mut self.wires[client];
        wire.client_read(now, wire.reading.bytes);
        wire.reading.times = wire.reading.times.saturating_sub(1);
        if std::mem::take(&mut wire.is_awaiting_answers) {
            self.schedule(now, Event::Step(client));
        }
        self.arrange_reading(client);
    }

    /// The server has done something that a client can see: it reads when it is its time.
    pub(crate) fn arrange_reading(&mut self, client: usize) {
        let now = self.now;
        let wire = &mut self.wires[client];
        if wire.is_read_scheduled || !wire.has_unread() || wire.reading.times == 0 {
            return;
        }
        let at = now.saturating_add(wire.reading.every).max(wire.reading.from);
        if at <= now {
            self.client_reads(client);
        } else if at < Duration::MAX {
            wire.is_read_scheduled = true;
            self.schedule(at, Event::Read(client));
        }
    }

    /// The server sends, with faults.
    pub(crate) fn server_send(&mut self, client: usize, head: &[u8], tail: &[u8]) -> io::Result<usize> {
        if self.random.chance(self.faults.would_block) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.server_send_now(client, head, tail)
    }

    /// The server sends what has waited for room, with short writes alone for a fault.
    pub(crate) fn server_send_now(&mut self, client: usize, head: &[u8], tail: &[u8]) -> io::Result<usize> {
        let length = head.len() + tail.len();
        assert!(length > 0, "nothing is sent");
        let is_short = self.random.chance(self.faults.short_write);
        let max_bytes = if is_short { self.random.size(1..=length) } else { length };
        let sent = self.wires[client].send(head, tail, max_bytes)?;
        self.arrange_reading(client);
        Ok(sent)
    }

    pub(crate) fn server_shutdown_send(&mut self, client: usize) {
        self.wires[client].shutdown_send();
        self.arrange_reading(client);
    }

    pub(crate) fn server_close(&mut self, client: usize) {
        let now = self.now;
        self.wires[client].close(now);
        self.arrange_reading(client);
    }
}
