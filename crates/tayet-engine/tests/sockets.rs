//! WebSockets over real sockets: handlers, send queues, topics and threads.
#![cfg(not(loom))]

mod sample;

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver as Events, Sender as Tell};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tayet_engine::websocket::{Codec, Event as Frame, Receiver, Role, Sender};
use tayet_engine::{
    Address, Captures, CloseCode, Closed, Engine, EngineConfig, Event, ExecutionModel, Head, Limits, Message,
    Pin, Publication, Replay, Request, Response, Route, RouteId, SendError, SendPolicy, Service, TopicError,
    WebSocket, WebSocketError, WebSocketHandler, WebSocketOptions,
};

use crate::sample::models;

const TIMEOUT: Duration = Duration::from_secs(20);

const CLIENT: Role = Role::Client(|| [1, 2, 3, 4]);

/// What a handler was told.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Told {
    Open(u64),
    Message(String),
    Drained,
    Error(WebSocketError),
    Close(u16, String, bool),
}

/// Tells what it is told, and does what messages say.
struct Parrot {
    tell: Mutex<Tell<(WebSocket, Told)>>,
    is_called: AtomicBool,
}

impl Parrot {
    fn tell(&self, socket: &WebSocket, told: Told) {
        assert!(!self.is_called.swap(true, Ordering::SeqCst), "two calls for one socket at once");
        let _ = self.tell.lock().unwrap().send((socket.clone(), told));
        self.is_called.store(false, Ordering::SeqCst);
    }
}

impl WebSocketHandler for Parrot {
    fn on_open(&self, socket: &WebSocket, request: &Request) {
        assert!(matches!(request.path(), "/socket" | "/pinned" | "/detached"), "{}", request.path());
        self.tell(socket, Told::Open(socket.id()));
    }

    fn on_message(&self, socket: &WebSocket, message: Message) {
        let text = String::from_utf8(message.as_bytes().to_vec()).unwrap();
        self.tell(socket, Told::Message(text.clone()));
        match text.as_str() {
            "nap" => std::thread::sleep(Duration::from_millis(10)),
            "sleep" => std::thread::sleep(Duration::from_millis(300)),
            "panic" => panic!("as asked"),
            "pause" => socket.pause(),
            "close" => socket.close(CloseCode::NORMAL, "as asked"),
            "join" => socket.subscribe("room").unwrap(),
            _ => {}
        }
        let _ = socket.send(format!("re: {text}"));
    }

    fn on_drained(&self, socket: &WebSocket) {
        self.tell(socket, Told::Drained);
    }

    fn on_error(&self, socket: &WebSocket, error: WebSocketError) {
        self.tell(socket, Told::Error(error));
    }

    fn on_close(&self, socket: &WebSocket, closed: &Closed) {
        let told = Told::Close(closed.code(), closed.reason().to_owned(), closed.was_clean());
        self.tell(socket, told);
    }
}

/// A route that learns where its handlers run, and one that stays with its loop.
struct Sockets {
    tell: Mutex<Tell<(WebSocket, Told)>>,
    options: WebSocketOptions,
}

impl Service for Sockets {
    fn routes(&self) -> Vec<Route> {
        let pinned = Route { label: "pinned".to_owned(), pin: Some(Pin::Inline), ..Route::default() };
        vec![Route { label: "sockets".to_owned(), ..Route::default() }, pinned]
    }

    fn find(&self, head: &Head, _: &mut Captures) -> RouteId {
        RouteId(u32::from(head.path() == "/pinned"))
    }

    fn call(&self, request: &mut Request) -> Response {
        match request.path() {
            "/socket" | "/pinned" => self.parrot(),
            "/detached" => {
                let (request, response) = (request.detach(), self.parrot());
                std::thread::spawn(move || request.respond(response));
                Response::default()
            }
            "/dropped" => {
                drop(request.detach());
                Response::default()
            }
            "/events" => Response::events(|stream, request| {
                let last_id = request.header("last-event-id").and_then(|id| id.parse().ok());
                stream.subscribe("room", last_id.map_or(Replay::Nothing, Replay::After)).unwrap();
            }),
            "/count" => Response::events(|stream, _| {
                for number in 1.. {
                    if stream.send(&Event::data(number.to_string())).is_err() {
                        return;
                    }
                }
            }),
            "/deferred" => {
                let responder = request.defer();
                let handler = Arc::new(|_: &WebSocket, _: Message| {});
                responder.respond(Response::web_socket(handler, WebSocketOptions::default()));
                Response::default()
            }
            _ => Response::new("hello"),
        }
    }
}

impl Sockets {
    fn parrot(&self) -> Response {
        let tell = Mutex::new(self.tell.lock().unwrap().clone());
        let parrot = Parrot { tell, is_called: AtomicBool::new(false) };
        Response::web_socket(Arc::new(parrot), self.options.clone())
    }
}

/// A server, and what its handlers were told.
struct Server {
    engine: Engine,
    address: SocketAddr,
    told: Events<(WebSocket, Told)>,
}

impl Server {
    fn start(execution: ExecutionModel, limits: Limits, options: WebSocketOptions) -> Self {
        let (tell, told) = mpsc::channel();
        let listen = vec![Address::Ip("127.0.0.1:0".parse().unwrap())];
        // These clients answer no goodbye unless a test has them do so.
        let limits = Limits { close_timeout_ms: 100, linger_timeout_ms: 100, ..limits };
        let config = EngineConfig { listen, loops: 2, execution, limits, ..EngineConfig::default() };
        let engine = Engine::start(config, Arc::new(Sockets { tell: Mutex::new(tell), options })).unwrap();
        let Address::Ip(address) = engine.addresses()[0] else { panic!("an IP address was asked for") };
        Self { engine, address, told }
    }

    fn next(&self) -> (WebSocket, Told) {
        self.told.recv_timeout(TIMEOUT).expect("the handler is told in time")
    }

    /// Skips that a queue was empty meanwhile: the kernel may take something at any time.
    fn next_but_drained(&self) -> Told {
        loop {
            match self.next().1 {
                Told::Drained => {}
                told => return told,
            }
        }
    }

    fn expect(&self, told: &Told) {
        assert_eq!(&self.next().1, told);
    }

    /// A client, and the server's end of its socket.
    fn open(&self) -> (Peer, WebSocket) {
        let peer = Peer::connect(self.address, "/socket");
        let (socket, told) = self.next();
        assert_eq!(told, Told::Open(socket.id()));
        (peer, socket)
    }

    fn stop(self) {
        self.engine.shutdown();
        self.engine.join();
    }
}

/// A client.
struct Peer {
    stream: TcpStream,
    sender: Sender,
    receiver: Receiver,
    codec: Codec,
    received: Vec<u8>,
}

impl Peer {
    fn connect(address: SocketAddr, path: &str) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let head = read_head(&mut stream);
        assert!(head.starts_with("HTTP/1.1 101 ") && head.contains("upgrade: websocket"), "{head}");
        Self {
            stream,
            sender: Sender::new(CLIENT, None),
            receiver: Receiver::new(CLIENT, None),
            codec: Codec::default(),
            received: Vec::new(),
        }
    }

    fn say(&mut self, text: &str) {
        let mut out = Vec::new();
        assert!(self.sender.message(&Message::from(text), &mut self.codec, &mut out).is_none());
        self.stream.write_all(&out).unwrap();
    }

    fn write(&mut self, frame: impl FnOnce(&mut Sender, &mut Vec<u8>)) {
        let mut out = Vec::new();
        frame(&mut self.sender, &mut out);
        self.stream.write_all(&out).unwrap();
    }

    /// The next frame or message; `None` at the end.
    fn hear(&mut self) -> Option<Frame> {
        loop {
            let mut input = &self.received[..];
            let frame = self.receiver.receive(&mut input, usize::MAX, &mut self.codec).unwrap();
            let left = input.len();
            self.received.drain(..self.received.len() - left);
            if frame.is_some() {
                return frame;
            }
            let mut part = [0; 65_536];
            match self.stream.read(&mut part) {
                Ok(0) | Err(_) => return None,
                Ok(count) => self.received.extend_from_slice(&part[..count]),
            }
        }
    }

    fn hear_text(&mut self) -> String {
        match self.hear() {
            Some(Frame::Message(Message::Text(text))) => text.as_str().to_owned(),
            other => panic!("a text was expected, and not {other:?}"),
        }
    }

    fn hear_close(&mut self) -> (u16, String) {
        loop {
            match self.hear() {
                Some(Frame::Close(frame)) => {
                    let frame = frame.expect("a code");
                    return (frame.code().get(), frame.reason().as_str().to_owned());
                }
                Some(_) => {}
                None => panic!("a close frame was expected"),
            }
        }
    }
}

fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

fn default_server(execution: ExecutionModel) -> Server {
    Server::start(execution, Limits::default(), WebSocketOptions::default())
}

#[test]
fn a_socket_opens_speaks_and_closes_in_every_model() {
    for model in models() {
        let server = default_server(model);
        let (mut peer, socket) = server.open();
        for text in ["one", "two", "three"] {
            peer.say(text);
        }
        for text in ["one", "two", "three"] {
            assert_eq!(peer.hear_text(), format!("re: {text}"), "{model}");
            server.expect(&Told::Message(text.to_owned()));
        }
        peer.write(|sender, out| sender.close(Some(&close(1000, "bye")), out));
        assert_eq!(peer.hear_close(), (1000, "bye".to_owned()), "{model}");
        server.expect(&Told::Close(1000, "bye".to_owned(), true));
        assert!(peer.hear().is_none());
        assert!(socket.is_closed());
        assert_eq!(socket.send("late"), Err(SendError::Closed));
        assert_eq!(socket.subscribe("room"), Err(TopicError::Closed));
        server.stop();
    }
}

#[test]
fn a_detached_request_begins_a_socket_from_another_thread_and_answers_500_when_it_is_dropped() {
    for model in models() {
        let server = default_server(model);
        let mut peer = Peer::connect(server.address, "/detached");
        assert!(matches!(server.next().1, Told::Open(_)), "{model}");
        peer.say("hello");
        assert_eq!(peer.hear_text(), "re: hello", "{model}");
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.write_all(b"GET /dropped HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        assert!(read_head(&mut stream).starts_with("HTTP/1.1 500 "), "{model}");
        server.stop();
    }
}

#[test]
fn a_paused_socket_gets_no_messages_holds_its_peer_back_and_goes_on_in_order() {
    const MAX_SENT_BYTES: usize = 64 * 1024 * 1024;
    for model in models() {
        let server = default_server(model);
        let (mut peer, socket) = server.open();
        peer.say("pause");
        assert_eq!(peer.hear_text(), "re: pause");
        server.expect(&Told::Message("pause".to_owned()));
        let mut frame = Vec::new();
        let text = Message::from("x".repeat(10_000));
        assert!(peer.sender.message(&text, &mut peer.codec, &mut frame).is_none());
        peer.stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
        let mut sent = 0;
        let rest = loop {
            match peer.stream.write(&frame[sent % frame.len()..]) {
                Ok(count) => sent += count,
                Err(_) => break (frame.len() - sent % frame.len()) % frame.len(),
            }
            assert!(sent < MAX_SENT_BYTES, "{model}: the peer is not held back");
        };
        assert!(server.told.try_recv().is_err(), "{model}: a message has come in spite of the pause");
        socket.resume();
        peer.stream.set_write_timeout(Some(TIMEOUT)).unwrap();
        peer.stream.write_all(&frame[frame.len() - rest..]).unwrap();
        peer.say("last");
        for _ in 0..(sent + rest) / frame.len() {
            assert_eq!(peer.hear_text().len(), "re: ".len() + 10_000, "{model}");
        }
        assert_eq!(peer.hear_text(), "re: last", "{model}");
        server.stop();
    }
}

fn close(code: u16, reason: &'static str) -> tayet_engine::websocket::CloseFrame {
    tayet_engine::websocket::CloseFrame::new(CloseCode::new(code).unwrap(), reason)
}

#[test]
fn a_blocked_handler_delays_its_own_socket_only_and_pings_not_even_there() {
    for model in [ExecutionModel::default(), ExecutionModel::ThreadPool { threads: 4 }] {
        let server = default_server(model);
        let (mut slow, _) = server.open();
        let (mut fast, _) = server.open();
        slow.say("sleep");
        slow.say("after");
        slow.write(|sender, out| sender.ping(b"there?", out));
        server.expect(&Told::Message("sleep".to_owned()));
        for number in 0..50 {
            fast.say(&number.to_string());
            assert_eq!(fast.hear_text(), format!("re: {number}"));
            server.expect(&Told::Message(number.to_string()));
        }
        match slow.hear() {
            Some(Frame::Pong(payload)) => assert_eq!(payload, &b"there?"[..], "{model}"),
            other => panic!("the pong comes before the blocked handler's answer, and not {other:?}"),
        }
        assert_eq!(slow.hear_text(), "re: sleep");
        assert_eq!(slow.hear_text(), "re: after");
        server.stop();
    }
}

#[test]
fn handlers_that_block_are_handed_to_the_pool_and_quick_ones_are_not() {
    let server = default_server(ExecutionModel::default());
    let (mut peer, _) = server.open();
    peer.say("quick");
    assert_eq!(peer.hear_text(), "re: quick");
    assert!(!server.engine.metrics().routes[0].are_messages_dispatched);
    peer.say("sleep");
    assert_eq!(peer.hear_text(), "re: sleep");
    let route = &server.engine.metrics().routes[0];
    assert!(route.are_messages_dispatched && !route.is_dispatched, "{route:?}");
    server.stop();
}

#[test]
fn no_message_is_lost_or_doubled_however_often_loops_are_taken() {
    const CLIENTS: usize = 12;
    const ROUNDS: usize = 20;
    let server = default_server(ExecutionModel::default());
    let address = server.address;
    let clients = (0..CLIENTS).map(|client| {
        std::thread::spawn(move || {
            let mut peer = Peer::connect(address, "/pinned");
            for round in 0..ROUNDS {
                let said =
                    [format!("{client} {round}"), "nap".to_owned(), format!("{client} {round} behind")];
                // Sometimes together, sometimes as they are answered.
                let at_once = if (client + round) % 2 == 0 { said.len() } else { 1 };
                for texts in said.chunks(at_once) {
                    texts.iter().for_each(|text| peer.say(text));
                    for text in texts {
                        assert_eq!(peer.hear_text(), format!("re: {text}"), "client {client}, round {round}");
                    }
                }
            }
        })
    });
    clients.collect::<Vec<_>>().into_iter().for_each(|client| client.join().unwrap());
    let takeovers = server.engine.metrics().takeovers;
    assert!(takeovers >= (ROUNDS / 2) as u64, "{takeovers}");
    server.stop();
}

#[test]
fn every_kind_of_end_is_told_once() {
    let server = Server::start(
        ExecutionModel::default(),
        Limits { max_message_bytes: 10, ..Limits::default() },
        WebSocketOptions::default(),
    );
    let (mut peer, _) = server.open();
    peer.say("close");
    server.expect(&Told::Message("close".to_owned()));
    assert_eq!(peer.hear_close(), (1000, "as asked".to_owned()));
    peer.write(|sender, out| sender.close(Some(&close(3000, "fine")), out));
    server.expect(&Told::Close(3000, "fine".to_owned(), true));

    let (mut peer, _) = server.open();
    peer.write(|sender, out| sender.close(None, out));
    assert!(matches!(peer.hear(), Some(Frame::Close(None))));
    server.expect(&Told::Close(1005, String::new(), true));

    let (mut peer, _) = server.open();
    peer.say("eleven byte");
    let (code, reason) = peer.hear_close();
    assert_eq!(code, 1009);
    assert!(matches!(server.next().1, Told::Error(WebSocketError::Protocol(_))));
    server.expect(&Told::Close(1009, reason, false));

    let (mut peer, _) = server.open();
    peer.say("panic");
    server.expect(&Told::Message("panic".to_owned()));
    server.expect(&Told::Error(WebSocketError::Panicked));
    assert_eq!(peer.hear_close().0, 1011);
    peer.write(|sender, out| sender.close(Some(&close(1011, "")), out));
    server.expect(&Told::Close(1011, String::new(), true));

    let (peer, _) = server.open();
    peer.stream.shutdown(Shutdown::Both).unwrap();
    server.expect(&Told::Error(WebSocketError::Disconnected));
    server.expect(&Told::Close(1006, String::new(), false));

    let (mut peer, _) = server.open();
    server.engine.shutdown();
    assert_eq!(peer.hear_close().0, 1001);
    peer.write(|sender, out| sender.close(Some(&close(1001, "")), out));
    server.expect(&Told::Close(1001, String::new(), true));
    server.engine.join();
    assert_eq!(server.engine.metrics().sessions_open, 0);
}

#[test]
fn many_threads_send_on_one_socket_while_it_is_closed() {
    const THREADS: usize = 8;
    for model in models() {
        let server = default_server(model);
        for round in 0..20 {
            let (mut peer, socket) = server.open();
            let sent = Arc::new(AtomicUsize::new(0));
            let threads = (0..THREADS).map(|thread| {
                let (socket, sent) = (socket.clone(), Arc::clone(&sent));
                std::thread::spawn(move || {
                    for number in 0..200 {
                        match socket.send(format!("{thread} {number}")) {
                            Ok(()) => sent.fetch_add(1, Ordering::Relaxed),
                            Err(SendError::Closed) => return,
                            Err(error) => panic!("{error}"),
                        };
                        if thread == 0 && number == 5 * round {
                            socket.close(CloseCode::NORMAL, "");
                        }
                    }
                })
            });
            let threads = threads.collect::<Vec<_>>();
            let mut next = [0; THREADS];
            let mut heard = 0;
            while let Some(frame) = peer.hear() {
                let text = match frame {
                    Frame::Message(Message::Text(text)) => text,
                    Frame::Close(_) => break,
                    other => panic!("{other:?}"),
                };
                let (thread, number) = text.as_str().split_once(' ').unwrap();
                let thread = thread.parse::<usize>().unwrap();
                assert_eq!(number, next[thread].to_string(), "each thread's messages keep their order");
                next[thread] += 1;
                heard += 1;
            }
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!(heard, sent.load(Ordering::Relaxed), "what was accepted comes before the goodbye");
            peer.write(|sender, out| sender.close(Some(&close(1000, "")), out));
            server.expect(&Told::Close(1000, String::new(), true));
        }
        server.stop();
    }
}

/// Waits until the server has noticed something.
fn wait_until(holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < TIMEOUT, "it does not come about");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Sends until the socket says that it has no room; gives how many messages it took.
fn fill(socket: &WebSocket) -> (usize, SendError) {
    let message = "x".repeat(10_000);
    let full = |taken| Some((taken, socket.send(message.clone()).err()?));
    (0..100_000).find_map(full).expect("a bounded queue")
}

#[test]
fn a_full_queue_closes_drops_or_waits_as_the_policy_says() {
    let limits = || Limits { max_send_queue_bytes: 100_000, ..Limits::default() };
    let options = |send_policy| WebSocketOptions { send_policy, ..WebSocketOptions::default() };

    let server = Server::start(ExecutionModel::default(), limits(), options(SendPolicy::Close));
    let (_peer, socket) = server.open();
    assert_eq!(fill(&socket).1, SendError::QueueFull);
    assert_eq!(socket.send("more"), Err(SendError::Closed));
    assert_eq!(server.next_but_drained(), Told::Error(WebSocketError::QueueFull));
    server.expect(&Told::Close(1006, String::new(), false));
    server.stop();

    let server = Server::start(ExecutionModel::default(), limits(), options(SendPolicy::Drop));
    let (mut peer, socket) = server.open();
    let (taken, full) = fill(&socket);
    assert_eq!(full, SendError::QueueFull);
    assert!(socket.buffered_amount() > 80_000 && !socket.is_closed());
    assert!(server.engine.metrics().messages_dropped >= 1);
    (0..taken).for_each(|_| assert_eq!(peer.hear_text().len(), 10_000));
    server.expect(&Told::Drained);
    wait_until(|| socket.buffered_amount() == 0);
    socket.send("room again").unwrap();
    assert_eq!(peer.hear_text(), "room again");
    server.stop();

    let server = Server::start(ExecutionModel::default(), limits(), options(SendPolicy::Block));
    let (mut peer, socket) = server.open();
    let sender = std::thread::spawn(move || {
        let message = "x".repeat(10_000);
        (0..2_000).for_each(|_| socket.send(message.clone()).unwrap());
        socket.send("all sent").unwrap();
    });
    let mut heard = 0;
    while peer.hear_text() != "all sent" {
        heard += 1;
    }
    sender.join().unwrap();
    assert_eq!(heard, 2_000);
    server.stop();
}

#[test]
fn a_sender_that_blocks_gives_up_on_a_peer_that_takes_nothing() {
    let limits = Limits { max_send_queue_bytes: 100_000, write_stall_timeout_ms: 300, ..Limits::default() };
    let options = WebSocketOptions { send_policy: SendPolicy::Block, ..WebSocketOptions::default() };
    for model in models() {
        let server = Server::start(model, limits.clone(), options.clone());
        let (_peer, socket) = server.open();
        assert!(matches!(fill(&socket).1, SendError::QueueFull | SendError::Closed), "{model}");
        let told = server.next_but_drained();
        assert!(matches!(told, Told::Error(_)), "{model}: {told:?}");
        server.expect(&Told::Close(1006, String::new(), false));
        server.stop();
    }
}

#[test]
fn members_of_a_topic_get_what_is_published_and_slow_ones_slow_nobody() {
    let limits = Limits { max_send_queue_bytes: 200_000, ..Limits::default() };
    let server = Server::start(ExecutionModel::default(), limits, WebSocketOptions::default());
    let mut peers = (0..20).map(|_| server.open()).collect::<Vec<_>>();
    for (peer, _) in &mut peers {
        peer.say("join");
        assert_eq!(peer.hear_text(), "re: join");
    }
    let topics = server.engine.topics();
    assert_eq!(topics.members("room"), 20);
    let (stuck, stuck_socket) = peers.pop().unwrap();
    let text = "x".repeat(50_000);
    for _ in 0..200 {
        topics.publish("room", text.clone()).unwrap();
        for (peer, _) in &mut peers {
            assert_eq!(peer.hear_text().len(), 50_000);
        }
    }
    assert!(stuck_socket.is_closed(), "one that takes nothing is closed by its policy");
    drop(stuck);
    let (left, left_socket) = peers.pop().unwrap();
    assert!(left_socket.unsubscribe("room") && !left_socket.unsubscribe("room"));
    assert!(left_socket.subscriptions().is_empty());
    assert_eq!(topics.publish("room", "last"), Ok(18));
    for (peer, _) in &mut peers {
        assert_eq!(peer.hear_text(), "last");
    }
    drop((left, peers));
    while topics.count() > 0 {
        std::thread::yield_now();
    }
    server.stop();
}

#[test]
fn who_joins_late_gets_the_past_that_it_asked_for_and_nothing_twice() {
    let server = default_server(ExecutionModel::default());
    let topics = server.engine.topics();
    topics.keep("room", 3).unwrap();
    topics.publish("room", Publication::new("kept").retained()).unwrap();
    (1..=4).for_each(|number| assert_eq!(topics.publish("room", number.to_string()), Ok(0)));
    let past = topics.history("room");
    let mut peers = Vec::new();
    for (replay, past) in [
        (Replay::Retained, &["kept"][..]),
        (Replay::Last(2), &["3", "4"]),
        (Replay::After(past[1].id()), &["4"]),
        (Replay::Nothing, &[]),
    ] {
        let (mut peer, socket) = server.open();
        socket.subscribe_with("room", replay).unwrap();
        // Once is enough.
        socket.subscribe_with("room", replay).unwrap();
        for text in past {
            assert_eq!(peer.hear_text(), *text, "{replay:?}");
        }
        peers.push(peer);
    }
    assert_eq!(topics.publish("room", "now"), Ok(4));
    peers.iter_mut().for_each(|peer| assert_eq!(peer.hear_text(), "now"));
    server.stop();
}

#[test]
fn a_socket_may_be_in_so_many_topics_and_no_more() {
    let limits = Limits { max_subscriptions: 2, ..Limits::default() };
    let server = Server::start(ExecutionModel::default(), limits, WebSocketOptions::default());
    let (_peer, socket) = server.open();
    socket.subscribe("a").unwrap();
    socket.subscribe("b").unwrap();
    assert_eq!(socket.subscribe("c"), Err(TopicError::TooManySubscriptions { limit: 2 }));
    assert!(socket.unsubscribe("a"));
    socket.subscribe("c").unwrap();
    server.stop();
}

#[test]
fn a_socket_carries_data_and_knows_its_peer() {
    let server = default_server(ExecutionModel::default());
    let (peer, socket) = server.open();
    socket.set_data(String::from("Ada")).unwrap();
    assert_eq!(socket.set_data(String::from("Eve")), Err(String::from("Eve")));
    assert_eq!(socket.clone().data::<String>().map(String::as_str), Some("Ada"));
    assert_eq!(socket.data::<u32>(), None);
    let local = peer.stream.local_addr().unwrap();
    assert_eq!(socket.remote_addr(), tayet_engine::PeerAddress::Ip(local));
    let (_other, other) = server.open();
    assert!(socket != other && socket == socket.clone());
    server.stop();
}

/// A stream of events, line by line.
fn events(address: SocketAddr, path: &str, fields: &str) -> (String, std::io::BufReader<TcpStream>) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n{fields}\r\n").unwrap();
    let head = read_head(&mut stream);
    (head, std::io::BufReader::new(stream))
}

/// The next chunk.
fn chunk(stream: &mut impl std::io::BufRead) -> String {
    let mut size = String::new();
    stream.read_line(&mut size).unwrap();
    let size = usize::from_str_radix(size.trim_end(), 16).unwrap();
    let mut chunk = vec![0; size + 2];
    stream.read_exact(&mut chunk).unwrap();
    String::from_utf8(chunk[..size].to_vec()).unwrap()
}

#[test]
fn events_come_as_they_are_published_and_after_the_one_that_was_seen_last() {
    let server = default_server(ExecutionModel::default());
    let topics = server.engine.topics();
    topics.keep("room", 10).unwrap();
    let (head, mut stream) = events(server.address, "/events", "");
    assert!(head.contains("content-type: text/event-stream\r\n"), "{head}");
    assert!(head.contains("transfer-encoding: chunked\r\n"), "{head}");
    while topics.members("room") == 0 {
        std::thread::yield_now();
    }
    for number in 1..=3 {
        topics.publish("room", Publication::new(format!("line {number}\nmore")).event("tick")).unwrap();
    }
    let ids = topics.history("room").iter().map(|past| past.id()).collect::<Vec<_>>();
    for number in 1..=3 {
        let id = ids[number - 1];
        assert_eq!(chunk(&mut stream), format!("event: tick\nid: {id}\ndata: line {number}\ndata: more\n\n"));
    }
    let (_, mut again) = events(server.address, "/events", &format!("Last-Event-ID: {}\r\n", ids[1]));
    assert!(chunk(&mut again).contains("data: line 3\n"));
    drop((stream, again));
    while topics.members("room") > 0 {
        std::thread::yield_now();
    }
    server.stop();
}

#[test]
fn a_client_of_http_1_0_gets_events_until_the_connection_ends() {
    let server = default_server(ExecutionModel::default());
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream.write_all(b"GET /events HTTP/1.0\r\n\r\n").unwrap();
    let head = read_head(&mut stream);
    assert!(head.contains("connection: close\r\n") && !head.contains("chunked"), "{head}");
    while server.engine.topics().publish("room", "x").unwrap() == 0 {
        std::thread::yield_now();
    }
    let mut text = [0; 4];
    stream.read_exact(&mut text).unwrap();
    assert_eq!(&text, b"id: ");
    server.stop();
}

#[test]
fn a_stream_that_is_written_by_a_handler_ends_when_its_client_has_gone() {
    for model in [ExecutionModel::default(), ExecutionModel::ThreadPool { threads: 2 }] {
        let server = default_server(model);
        let (_, mut stream) = events(server.address, "/count", "");
        for number in 1..=100 {
            assert_eq!(chunk(&mut stream), format!("data: {number}\n\n"));
        }
        assert_eq!(server.engine.metrics().sessions_open, 1);
        drop(stream);
        while server.engine.metrics().threads_busy > 0 || server.engine.metrics().sessions_open > 0 {
            std::thread::yield_now();
        }
        server.stop();
    }
}

#[test]
fn a_silent_client_of_events_gets_heartbeats() {
    let limits = Limits { heartbeat_interval_ms: 50, ..Limits::default() };
    let server = Server::start(ExecutionModel::default(), limits, WebSocketOptions::default());
    let (_, mut stream) = events(server.address, "/events", "");
    for _ in 0..3 {
        assert_eq!(chunk(&mut stream), ":\n\n");
    }
    server.stop();
}

#[test]
fn head_gets_the_fields_and_a_deferred_answer_begins_no_web_socket() {
    let server = default_server(ExecutionModel::default());
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream.write_all(b"HEAD /events HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let head = read_head(&mut stream);
    assert!(head.starts_with("HTTP/1.1 200 ") && head.contains("text/event-stream"), "{head}");
    assert!(read_head(&mut stream).starts_with("HTTP/1.1 200 "));
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream.write_all(b"GET /deferred HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    assert!(read_head(&mut stream).starts_with("HTTP/1.1 500 "));
    server.stop();
}
