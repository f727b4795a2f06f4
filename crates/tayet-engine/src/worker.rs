//! A thread of the engine: it drives a loop while it has one, and else runs what the loops hand over.

use std::any::Any;
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use tayet_net::{Moment, ThreadActivity, prefetch};

use crate::answer::{Asked, BodyFraming, Encoded, encode};
use crate::body::Write;
use crate::body_pipe::BodyPipe;
use crate::body_wire::BodyWire;
use crate::channel::Channel;
use crate::clock::DateCache;
use crate::connection::Answer;
use crate::download::Download;
use crate::event_loop::{Due, Loop, Step};
use crate::held::MAX_FAST_BYTES;
use crate::interim::InterimPath;
use crate::mailbox::Message;
use crate::monitor::Driving;
use crate::peer::Peer;
use crate::pool::Assignment;
use crate::report::{Outcome, Record, Report};
use crate::route_class::RouteClass;
use crate::seat::Seat;
use crate::shared::Shared;
use crate::slot::Slot;
use crate::socket_event::SocketEvent;
use crate::sync::{Mutex, lock};
use crate::turn::TurnPlace;
use crate::turn_queue::Precedence;
use crate::{BodyWriter, ExecutionModel, Request, Response, RouteId, kept, problem, trial, turn};

/// Starts a thread; with a loop to drive, or to wait in the pool for something to do.
///
/// # Errors
///
/// When the system gives no thread.
pub(crate) fn start(shared: &Arc<Shared>, first: Option<Box<Loop>>) -> io::Result<()> {
    let name = if first.is_some() { "tayet-loop" } else { "tayet-worker" };
    let shared = Arc::clone(shared);
    std::thread::Builder::new().name(name.to_owned()).spawn(move || run(&shared, first)).map(drop)
}

/// Starts `count` threads that the pool has counted in.
pub(crate) fn start_counted(shared: &Arc<Shared>, count: usize) {
    for _ in 0..count {
        if let Err(error) = start(shared, None) {
            shared.pool.discharge();
            tracing::error!(%error, "no thread could be started for the pool");
        }
    }
}

/// What a loop hands over.
#[derive(Debug)]
pub(crate) enum Job {
    /// A request for its handler.
    Call(Call),
    /// The rest of a response whose handler has returned.
    Write(Box<WriteBody>),
    /// Files, or what is left of them.
    Download(Box<Download>),
    /// Events for a socket's handler, in order.
    Events(Box<Events>),
}

/// A request on its way to a worker.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) request: Box<Request>,
    pub(crate) asked: Asked,
    /// Where its body still arrives, the pipe that it comes through.
    pub(crate) pipe: Option<Arc<BodyPipe>>,
    pub(crate) queued_at: Moment,
    /// How long its handler will take, as far as the route's earlier calls tell.
    pub(crate) expected: Option<Duration>,
    /// When its loop answers in the handler's place.
    pub(crate) timeout_at_ms: Option<u64>,
    /// Whether calls of its route may have to wait for each other.
    pub(crate) has_bulkhead: bool,
    /// Whether they take turns at something.
    pub(crate) takes_turns: bool,
}

/// Events on their way to a worker.
#[derive(Debug)]
pub(crate) struct Events {
    channel: Arc<Channel>,
    events: VecDeque<SocketEvent>,
    route: RouteId,
    queued_at: Moment,
    expected: Option<Duration>,
}

/// A written body on its way to a worker.
pub(crate) struct WriteBody {
    pub(crate) peer: Arc<Peer>,
    pub(crate) exchange: u32,
    /// The response's head, and what stands before it.
    pub(crate) head: Vec<u8>,
    pub(crate) write: Write,
    pub(crate) framing: BodyFraming,
    pub(crate) keep_alive: bool,
    pub(crate) queued_at: Moment,
}

impl std::fmt::Debug for WriteBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WriteBody").field("peer", &self.peer).finish_non_exhaustive()
    }
}

impl Job {
    pub(crate) fn events(
        channel: Arc<Channel>,
        events: VecDeque<SocketEvent>,
        route: RouteId,
        queued_at: Moment,
        expected: Option<Duration>,
    ) -> Self {
        Self::Events(Box::new(Events { channel, events, route, queued_at, expected }))
    }

    pub(crate) fn queued_at(&self) -> Moment {
        match self {
            Self::Call(call) => call.queued_at,
            Self::Write(write) => write.queued_at,
            Self::Download(download) => download.queued_at,
            Self::Events(events) => events.queued_at,
        }
    }

    /// The route, if its calls may have to wait for each other.
    pub(crate) fn bulkhead(&self) -> Option<RouteId> {
        match self {
            Self::Call(call) if call.has_bulkhead => Some(call.request.route()),
            _ => None,
        }
    }

    /// Whether it is a call of this route.
    pub(crate) fn calls(&self, route: RouteId) -> bool {
        matches!(self, Self::Call(call) if call.request.route() == route)
    }

    /// Whether calls like this take turns at something.
    pub(crate) fn takes_turns(&self) -> bool {
        matches!(self, Self::Call(call) if call.takes_turns)
    }

    /// Whether it is known to take less than waking a worker does.
    pub(crate) fn is_short(&self) -> bool {
        self.expected().is_some_and(|expected| expected < WORTH_A_WAKE)
    }

    /// How long it will take, as far as one can tell.
    pub(crate) fn expected(&self) -> Option<Duration> {
        match self {
            Self::Call(call) => call.expected,
            Self::Write(_) => None,
            Self::Download(download) => download.expected,
            Self::Events(events) => events.expected,
        }
    }
}

/// The work for which it is worth waking another worker.
const WORTH_A_WAKE: Duration = Duration::from_micros(20);

/// How many workers some jobs are worth: each its own, but for those that are known to be short, and those that take turns,
/// which are worth no more than `turns` workers.
pub(crate) fn workers_for(jobs: &[Job], turns: usize) -> usize {
    let mut alone = 0;
    let mut in_turn = 0;
    let mut together = Duration::ZERO;
    for job in jobs {
        match job.expected() {
            Some(expected) if job.is_short() => together += expected,
            _ if job.takes_turns() => in_turn += 1,
            _ => alone += 1,
        }
    }
    let shared = together.as_nanos().div_ceil(WORTH_A_WAKE.as_nanos()) as usize;
    alone + in_turn.min(turns) + shared
}

fn run(shared: &Arc<Shared>, first: Option<Box<Loop>>) {
    let seat = Seat::of_current();
    turn::join(Arc::clone(shared) as _);
    let mut worker = Worker::new(Arc::clone(shared));
    if let Some(the_loop) = first {
        worker.drive(the_loop);
    } else {
        shared.pool.join();
    }
    while let Some(assignment) = next(shared, &seat) {
        match assignment {
            Assignment::Drive(the_loop) => worker.drive(the_loop),
            Assignment::Run(job) => {
                let mut next = Some(job);
                while let Some(job) = next {
                    let bulkhead = job.bulkhead();
                    if let Some(report) = worker.run(job) {
                        report.tell(shared);
                    }
                    next = bulkhead.and_then(|route| shared.pool.leave(route));
                }
            }
        }
    }
}

/// What the calling thread is to do next. A turn that it has kept is for calls of the same route that wait already.
fn next(shared: &Shared, seat: &Arc<Seat>) -> Option<Assignment> {
    if kept::is_no_matter() {
        return shared.pool.next(seat, Precedence::Own);
    }
    if let Some(job) = kept::kept_for().and_then(|route| shared.pool.next_of(route)) {
        return Some(Assignment::Run(job));
    }
    shared.pool.next(seat, kept::give_back())
}

/// What a thread needs for its work.
pub(crate) struct Worker {
    shared: Arc<Shared>,
    date: DateCache,
    buffer: Vec<u8>,
}

impl Worker {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, date: DateCache::new(), buffer: Vec::new() }
    }

    /// Drives a loop until it stops, or until it is taken while a handler runs.
    fn drive(&mut self, mut the_loop: Box<Loop>) {
        let lends = matches!(self.shared.execution, ExecutionModel::TaskPool { .. });
        // A slot from which a loop was taken is spent, so each drive has its own.
        let slot = Arc::new(Slot::new());
        let activity = ThreadActivity::of_current().ok();
        let driving = Driving { slot: Arc::clone(&slot), activity, place: TurnPlace::of_current() };
        self.shared.monitor.set_driving(the_loop.index(), driving);
        the_loop.arrive();
        let lender = lends.then_some(&*slot);
        loop {
            match the_loop.step() {
                Step::Call(Due::Request(mut request)) => {
                    let mut place = None;
                    let (response, back) =
                        lend(lender, the_loop, || self.shared.handle(&mut request, &mut place));
                    let Some(back) = back else {
                        answer_late(request, std::mem::take(response));
                        return;
                    };
                    the_loop = back;
                    the_loop.answered(request, response);
                    Response::discard(&mut place);
                }
                Step::Call(Due::Event { channel, event }) => {
                    let sessions = self.shared.sessions();
                    let ((), back) = lend(lender, the_loop, || sessions.call(&channel, event, &self.shared));
                    let Some(back) = back else {
                        channel.tell_handled(None);
                        return;
                    };
                    the_loop = back;
                    sessions.handled(&mut the_loop, &channel);
                }
                Step::Stopped => {
                    self.shared.pool.leave_loop();
                    self.shared.stopped(the_loop);
                    return;
                }
            }
        }
    }

    /// Does what a loop has handed over. What the loop is then to be told is the last of it; `None` if that is nothing, or
    /// another's to say.
    pub(crate) fn run(&mut self, job: Job) -> Option<Report> {
        match job {
            Job::Call(call) => self.call(call),
            Job::Write(write) => Some(self.write(*write)),
            Job::Download(download) => Some(self.resume(download)),
            Job::Events(events) => {
                self.handle_events(*events);
                None
            }
        }
    }

    /// Answers a request that was handed over, straight to its socket.
    fn call(&mut self, call: Call) -> Option<Report> {
        let Call { mut request, asked, pipe, queued_at, timeout_at_ms, takes_turns, .. } = call;
        let started = self.shared.clock.now();
        if timeout_at_ms.is_some_and(|at_ms| at_ms <= started.as_ms()) {
            // The loop answers for its handler, if it has not done so already.
            return None;
        }
        // It lies in another core's caches, and is needed behind the handler.
        prefetch(&**request.peer());
        let class = self.shared.class_of(&request);
        trial::begin(pipe.is_none() && class.begins_dispatched(started.as_ms()));
        let mut place = None;
        if takes_turns {
            kept::begin(request.route());
        }
        let response = self.shared.handle(&mut request, &mut place);
        if takes_turns {
            kept::end();
        }
        let now = self.shared.clock.now();
        let ran = trial::end(now.since(started));
        if pipe.is_none() {
            class.ran_dispatched(ran, now.as_ms());
        }
        if request.is_deferred() || !request.peer().claim(request.exchange()) {
            return None;
        }
        if response.body().is_session() {
            answer_late(request, std::mem::take(response));
            return None;
        }
        // A body that was not read to its end leaves the connection in the middle of it.
        let is_read = pipe.is_none_or(|pipe| pipe.is_finished());
        let keep_alive = asked.keep_alive && is_read && !self.shared.is_shutting_down();
        let took_ns = now.ns_since(started);
        let record =
            Record::Dispatched { status: response.status(), waited_ns: started.ns_since(queued_at), took_ns };
        let exchange = request.exchange();
        let peer = request.retire().expect("it came by a connection");
        self.buffer.clear();
        let asked = Asked { keep_alive, ..asked };
        let encoded = encode(response, asked, self.date.at(now), &mut self.buffer);
        if takes_turns && !matches!(encoded, Encoded::Whole { .. }) {
            kept::give_back();
        }
        let (outcome, at) = match encoded {
            Encoded::Whole { keep_alive: true } if self.is_loops_to_send(&peer, took_ns) => {
                std::mem::swap(&mut self.buffer, request.answer_mut());
                (Outcome::Made, now)
            }
            Encoded::Whole { keep_alive } => {
                (peer.send_answer(&mut self.buffer, Bytes::new(), keep_alive), now)
            }
            Encoded::Tail { tail, keep_alive } => (peer.send_answer(&mut self.buffer, tail, keep_alive), now),
            Encoded::Written { write, framing, keep_alive } => {
                let head = std::mem::take(&mut self.buffer);
                (write_body(&self.shared, &peer, head, write, framing, keep_alive), self.shared.clock.now())
            }
            Encoded::Parts { parts, keep_alive } => {
                let head = std::mem::take(&mut self.buffer);
                let download = Download::new(Arc::clone(&peer), exchange, keep_alive, head, parts, now);
                self.send_some(Box::new(download))
            }
            Encoded::Session { .. } => unreachable!("sessions are opened by their loop"),
        };
        let report = Report::new(peer, exchange, Some(record), outcome, at);
        Some(Report { request: Some(request), ..report })
    }

    /// Whether a connection's loop is to send the answer in the buffer, which was made in so long: one that is about to look what
    /// its workers have done sends short ones together (`held.rs`).
    fn is_loops_to_send(&self, peer: &Peer, took_ns: u64) -> bool {
        peer.home().is_some_and(|home| home.takes_answers.load(Ordering::Relaxed))
            && took_ns < self.shared.limits.hold_answers_from_us.saturating_mul(1_000)
            && self.buffer.len() <= MAX_FAST_BYTES
    }

    /// Writes the body of a response whose handler ran on its loop.
    fn write(&mut self, job: WriteBody) -> Report {
        let WriteBody { peer, exchange, head, write, framing, keep_alive, .. } = job;
        let outcome = write_body(&self.shared, &peer, head, write, framing, keep_alive);
        Report::new(peer, exchange, None, outcome, self.shared.clock.now())
    }

    /// Goes on with a download, from which its client takes something again.
    fn resume(&self, download: Box<Download>) -> Report {
        let (peer, exchange) = (Arc::clone(&download.peer), download.exchange);
        let (outcome, at) = self.send_some(download);
        Report::new(peer, exchange, None, outcome, at)
    }

    /// Sends what the client takes now of a download; with the rest no thread waits.
    fn send_some(&self, mut download: Box<Download>) -> (Outcome, Moment) {
        let Some(socket) = download.peer.socket().map(Arc::clone) else {
            return (Outcome::Broken, self.shared.clock.now());
        };
        let started = self.shared.clock.now();
        let sent = download.send(&*socket);
        let now = self.shared.clock.now();
        let outcome = match sent {
            Ok(bytes) if download.is_done() => Outcome::Sent { keep_alive: download.keep_alive, bytes },
            Ok(bytes) => {
                download.note_turn(bytes, now.since(started), now);
                Outcome::Parked { download, bytes }
            }
            Err(error) => {
                note_cut(&download.peer, &error);
                Outcome::Broken
            }
        };
        (outcome, now)
    }

    /// Calls a socket's handler for each of some events, one after another.
    fn handle_events(&mut self, job: Events) {
        let Events { channel, events, route, queued_at, .. } = job;
        let class = &self.shared.routes[route.0 as usize].messages;
        let mut started = self.shared.clock.now();
        let waited_ns = started.ns_since(queued_at);
        for event in events {
            trial::begin(class.begins_dispatched(started.as_ms()));
            self.shared.sessions().call(&channel, event, &self.shared);
            let now = self.shared.clock.now();
            class.ran_dispatched(trial::end(now.since(started)), now.as_ms());
            started = now;
        }
        channel.tell_handled(Some(waited_ns));
    }
}

fn write_body(
    shared: &Shared,
    peer: &Peer,
    head: Vec<u8>,
    write: Write,
    framing: BodyFraming,
    keep_alive: bool,
) -> Outcome {
    let Some(socket) = peer.socket() else { return Outcome::Broken };
    let stall_timeout = Duration::from_millis(shared.limits.write_stall_timeout_ms);
    let wire = BodyWire::new(Arc::clone(socket), stall_timeout, framing, head);
    let wire = Arc::new(Mutex::new(wire));
    let written = catch_unwind(AssertUnwindSafe(|| {
        let mut writer = BodyWriter::to_wire(&wire, shared, framing.length());
        write(&mut writer)?;
        let trailers = writer.finish()?;
        lock(&wire).finish(trailers.as_deref())
    }));
    match written {
        Ok(Ok(bytes)) => Outcome::Sent { keep_alive, bytes },
        Ok(Err(error)) => {
            note_cut(peer, &error);
            Outcome::Broken
        }
        Err(panic) => {
            shared.note_panic(&*panic);
            Outcome::Broken
        }
    }
}

#[cold]
#[inline(never)]
fn put_answer_of_failed(request: &Request, place: &mut Option<Response>) {
    *place = Some(problem::response(StatusCode::INTERNAL_SERVER_ERROR, "", request.header("accept")));
}

fn note_cut(peer: &Peer, error: &io::Error) {
    tracing::debug!(%error, peer = %peer.address, "a response's body was cut short");
}

/// Calls something, with the loop laid in its slot meanwhile if it may be taken. The loop comes back unless it was.
fn lend<R>(
    slot: Option<&Slot<Loop>>,
    the_loop: Box<Loop>,
    call: impl FnOnce() -> R,
) -> (R, Option<Box<Loop>>) {
    // What is called stands in one place, so that it need not be a function of its own.
    let lent = match slot {
        Some(slot) => Ok((slot, slot.publish(the_loop))),
        None => Err(the_loop),
    };
    let result = call();
    let back = match lent {
        Ok((slot, published)) => slot.reclaim(published),
        Err(the_loop) => Some(the_loop),
    };
    (result, back)
}

/// The answer of a handler that lost its loop goes by the loop's mailbox, as does one that begins a session. Nobody answers
/// before the loop does, so it is the loop that claims it.
pub(crate) fn answer_late(request: Box<Request>, response: Response) {
    if request.is_deferred() {
        return;
    }
    let peer = Arc::clone(request.peer());
    let exchange = request.exchange();
    let request =
        (response.body().is_session() || request.interims() == InterimPath::BehindAnswers).then_some(request);
    let answer = Box::new(Answer { response, request });
    peer.tell_loop(Message::Answer { token: peer.token, exchange, answer });
}

impl Shared {
    fn class_of(&self, request: &Request) -> &RouteClass {
        let classes = &self.routes[request.route().0 as usize].classes;
        classes.of(classes.group(|| request.path().as_bytes()))
    }

    /// Runs the handler of a request; its panic is a 500. The response is put in `place`, an empty one, rather than returned: on
    /// its way out of what catches the panic it would be copied twice.
    // Inlined always, for those who call it on a loop.
    #[inline(always)]
    pub(crate) fn handle<'p>(
        &self,
        request: &mut Request,
        place: &'p mut Option<Response>,
    ) -> &'p mut Response {
        let answered = catch_unwind(AssertUnwindSafe(|| {
            self.service.answer(request, place);
        }));
        if let Err(panic) = answered {
            self.note_panic(&*panic);
        }
        if request.is_deferred() {
            request.release_deferral();
        }
        if place.is_none() {
            put_answer_of_failed(request, place);
        }
        place.as_mut().expect("just put")
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn note_panic(&self, panic: &(dyn Any + Send)) {
        self.panics.fetch_add(1, Ordering::Relaxed);
        let message = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("(no message)");
        tracing::error!(message, "a handler panicked");
    }

    fn stopped(&self, the_loop: Box<Loop>) {
        self.monitor.clear_driving(the_loop.index());
        drop(the_loop);
        *lock(&self.running_loops) -= 1;
        self.loop_stopped.notify_all();
    }
}

/// A numbered call, for tests.
#[cfg(all(test, not(loom)))]
pub(crate) fn test_job(number: usize, takes_turns: bool) -> Job {
    Job::Call(Call {
        request: Box::new(Request::builder("GET", &format!("/{number}")).build().unwrap()),
        asked: Asked { version: http::Version::HTTP_11, is_head: false, keep_alive: true },
        pipe: None,
        queued_at: Moment::now(),
        expected: None,
        timeout_at_ms: None,
        has_bulkhead: false,
        takes_turns,
    })
}

#[cfg(all(test, not(loom)))]
impl Job {
    pub(crate) fn test_number(&self) -> usize {
        let Self::Call(call) = self else { panic!("tests make calls only") };
        call.request.path()[1..].parse().unwrap()
    }
}
