//! WebSockets: what is sent comes back, in order, whoever calls the handler and however the network behaves.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use tayet_testkit::{Client, ClientId, Faults, Random, Reading, Transcript, for_each_seed};
use tayet_websocket::{CloseCode, CloseFrame, Codec, Event, Message, Receiver, Role, Sender};

use super::application::pattern;
use super::stage::{Habits, Stage};
use super::{any_habits, any_model, ms};
use crate::sync::{Mutex, lock};
use crate::{Closed, ExecutionModel, Limits, Request, WebSocket, WebSocketError, WebSocketHandler};

/// A client's end, which masks with a fixed key.
const CLIENT: Role = Role::Client(|| [0x1f, 0xa2, 0x33, 0x74]);

/// What happened on each socket, by the tag of its request.
pub(super) type Diary = Arc<Mutex<HashMap<u64, Vec<Entry>>>>;

/// A line of a diary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Opened,
    Message(usize),
    Failed(WebSocketError),
    Closed(u16),
}

/// Echoes each message, and writes down what happens. With a topic, everything is published to it instead.
pub(super) struct Diarist {
    pub(super) tag: u64,
    pub(super) topic: bool,
    pub(super) diary: Diary,
}

impl Diarist {
    fn write(&self, entry: Entry) {
        lock(&self.diary).entry(self.tag).or_default().push(entry);
    }
}

impl WebSocketHandler for Diarist {
    fn on_open(&self, socket: &WebSocket, _: &Request) {
        self.write(Entry::Opened);
        if self.topic {
            socket.subscribe("all").unwrap();
        }
    }

    fn on_message(&self, socket: &WebSocket, message: Message) {
        self.write(Entry::Message(message.len()));
        if self.topic {
            socket.topics().publish("all", message).unwrap();
        } else {
            // One that says nothing more has closed.
            let _ = socket.send(message);
        }
    }

    fn on_error(&self, _: &WebSocket, error: WebSocketError) {
        self.write(Entry::Failed(error));
    }

    fn on_close(&self, _: &WebSocket, closed: &Closed) {
        self.write(Entry::Closed(closed.code()));
    }
}

/// What one client says.
struct Talk {
    tag: u64,
    messages: Vec<Message>,
    pings: usize,
    end: Farewell,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Farewell {
    /// A close frame.
    Close,
    /// The end of its sending direction, without one.
    Silence,
    Reset,
    /// A frame that breaks the protocol.
    Nonsense,
}

impl Talk {
    fn any(random: &mut Random, tag: u64) -> Self {
        let messages = (0..random.size(0..=8)).map(|number| {
            let size = *random.pick(&[0, 1, 125, 126, 1_000, 4_096, 20_000, 66_000]);
            let bytes = pattern(tag + number as u64, size);
            if random.chance(500) {
                Message::Binary(Bytes::from(bytes))
            } else {
                bytes.iter().map(|byte| char::from(byte % 64 + 48)).collect::<String>().into()
            }
        });
        Self {
            tag,
            messages: messages.collect(),
            pings: 0,
            end: *random.pick(&[
                Farewell::Close,
                Farewell::Close,
                Farewell::Silence,
                Farewell::Reset,
                Farewell::Nonsense,
            ]),
        }
    }

    /// The frames, with pings in between.
    fn frames(&mut self, random: &mut Random) -> Vec<u8> {
        let mut sender = Sender::new(CLIENT, None);
        let mut codec = Codec::default();
        let mut out = Vec::new();
        for message in &self.messages {
            if random.chance(300) {
                sender.ping(&[self.pings as u8], &mut out);
                self.pings += 1;
            }
            assert!(sender.message(message, &mut codec, &mut out).is_none(), "a client masks, and so copies");
        }
        match self.end {
            Farewell::Close => sender.close(Some(&CloseFrame::new(CloseCode::NORMAL, "bye")), &mut out),
            // A reserved opcode.
            Farewell::Nonsense => out.extend([0x83, 0x80, 0, 0, 0, 0]),
            Farewell::Silence | Farewell::Reset => {}
        }
        out
    }

    fn client(&mut self, random: &mut Random, kind: &str) -> Client {
        let mut bytes = format!("GET /{kind}/{}/0 HTTP/1.1\r\nHost: x\r\n\r\n", self.tag).into_bytes();
        bytes.extend(self.frames(random));
        let client = Client::connecting_at(ms(random.within(0..=50))).send_cut(bytes, random, 12, ms(20));
        let client = if random.chance(300) { client.reading(Reading::slow(5_000, ms(3))) } else { client };
        let client = client.buffers(random.size(3_000..=100_000), random.size(3_000..=100_000));
        match self.end {
            Farewell::Silence => client.half_close(),
            Farewell::Reset => client.wait(ms(random.within(0..=100))).reset(),
            Farewell::Close | Farewell::Nonsense => client,
        }
    }

    /// Checks what came back, and what the handler was told.
    fn check(&self, transcript: &Transcript, diary: &[Entry]) {
        let heard = Heard::of(transcript);
        let expected = self.messages.iter().collect::<Vec<_>>();
        let count = heard.messages.len();
        assert!(
            count <= expected.len() && heard.messages.iter().eq(expected[..count].iter().copied()),
            "{self:?}"
        );
        assert!(heard.pongs.iter().copied().eq(0..heard.pongs.len() as u8), "pongs {:?}", heard.pongs);
        if self.end == Farewell::Reset && diary.is_empty() {
            return;
        }
        let (first, rest) = diary.split_first().expect("the socket was opened");
        let (last, told) = rest.split_last().expect("the socket was closed");
        assert_eq!(*first, Entry::Opened);
        let failures = told.iter().filter(|entry| matches!(entry, Entry::Failed(_))).count();
        let told = told.iter().filter(|entry| matches!(entry, Entry::Message(_))).count();
        match self.end {
            Farewell::Close => {
                assert_eq!(
                    (count, told, failures),
                    (expected.len(), expected.len(), 0),
                    "{self:?} {diary:?}"
                );
                assert_eq!(heard.pongs.len(), self.pings);
                assert_eq!((last, heard.close), (&Entry::Closed(1000), Some(1000)), "{self:?}");
            }
            Farewell::Nonsense => {
                assert_eq!(
                    (count, told, failures),
                    (expected.len(), expected.len(), 1),
                    "{self:?} {diary:?}"
                );
                assert_eq!((last, heard.close), (&Entry::Closed(1002), Some(1002)));
            }
            Farewell::Silence | Farewell::Reset => {
                assert_eq!((last, failures), (&Entry::Closed(1006), 1), "{self:?} {diary:?}");
            }
        }
    }
}

impl fmt::Debug for Talk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths = self.messages.iter().map(Message::len).collect::<Vec<_>>();
        write!(f, "{} says {lengths:?} with {} pings, then {:?}", self.tag, self.pings, self.end)
    }
}

/// What a client has received.
#[derive(Default)]
struct Heard {
    messages: Vec<Message>,
    pongs: Vec<u8>,
    close: Option<u16>,
}

impl Heard {
    fn of(transcript: &Transcript) -> Self {
        let bytes = &transcript.bytes;
        let mut heard = Self::default();
        let Some(head) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { return heard };
        assert!(bytes.starts_with(b"HTTP/1.1 101 "));
        let mut input = &bytes[head + 4..];
        let mut receiver = Receiver::new(CLIENT, None);
        let mut codec = Codec::default();
        while let Some(event) =
            receiver.receive(&mut input, usize::MAX, &mut codec).expect("a server keeps to the protocol")
        {
            assert!(heard.close.is_none(), "nothing comes behind a close frame");
            match event {
                Event::Message(message) => heard.messages.push(message),
                Event::Pong(payload) => heard.pongs.push(payload[0]),
                Event::Ping(_) => {}
                Event::Close(frame) => heard.close = Some(frame.map_or(1005, |frame| frame.code().get())),
            }
        }
        heard
    }
}

fn limits(random: &mut Random) -> Limits {
    Limits {
        pipeline_buffer_bytes: *random.pick(&[1, 1_000, 64 * 1_024]),
        coalesce_bytes: *random.pick(&[1, 300, 64 * 1_024]),
        max_connections: 1_000,
        ..Limits::default()
    }
}

fn stage(seed: u64, random: &mut Random) -> Stage {
    let (limits, habits) = (limits(random), any_habits(random));
    let stage = Stage::new(seed, any_model(random), limits, habits);
    stage.net.set_faults(Faults::bearable(random));
    stage
}

fn entries(stage: &Stage, tag: u64) -> Vec<Entry> {
    lock(&stage.diary).get(&tag).cloned().unwrap_or_default()
}

#[test]
fn every_message_comes_back_once_in_order_and_every_socket_is_closed_once() {
    for_each_seed(1_000, |seed| {
        let mut random = Random::new(seed);
        let stage = stage(seed, &mut random);
        let talks = (0..random.size(1..=5)).map(|number| {
            let mut talk = Talk::any(&mut random, number as u64 * 100);
            let client = talk.client(&mut random, "Socket");
            (stage.net.add(client), talk)
        });
        let talks = talks.collect::<Vec<(ClientId, Talk)>>();
        stage.drain_at(ms(20_000));
        let stage = stage.run();
        for (client, talk) in &talks {
            talk.check(&stage.net.transcript(*client), &entries(&stage, talk.tag));
            assert!(stage.net.closed_at(*client).is_some_and(|at| at < ms(20_000)), "{talk:?}");
        }
        assert_eq!(stage.busy_workers(), 0);
        assert_eq!(stage.shared.homes[0].topics.count(), 0);
        assert!(stage.net.elapsed() <= ms(20_200), "nothing is left to be waited for");
    });
}

#[test]
fn a_publication_reaches_all_members_in_one_order() {
    for_each_seed(150, |seed| {
        let mut random = Random::new(seed);
        let stage = stage(seed, &mut random);
        // All shall have joined before anybody speaks.
        stage.net.set_faults(Faults { exhausted: 0, ..Faults::bearable(&mut random) });
        let listeners = (0..random.size(1..=40)).map(|number| {
            let request = format!("GET /Topic/{number}/0 HTTP/1.1\r\nHost: x\r\n\r\n");
            let client = Client::connecting_at(ms(0)).send(request);
            stage.net.add(if random.chance(200) {
                client.wait(ms(1_500)).reset()
            } else {
                client.wait(ms(5_000))
            })
        });
        let listeners = listeners.collect::<Vec<_>>();
        let speakers = (0..random.size(1..=3)).map(|number| {
            let mut talk = Talk::any(&mut random, 1_000 + number as u64 * 100);
            talk.end = Farewell::Close;
            let bytes = talk.frames(&mut random);
            let request = format!("GET /Topic/{}/0 HTTP/1.1\r\nHost: x\r\n\r\n", talk.tag);
            let client = Client::connecting_at(ms(1_000)).send(request).wait(ms(100));
            stage.net.add(client.send_cut(bytes, &mut random, 12, ms(90)));
            talk
        });
        let speakers = speakers.collect::<Vec<_>>();
        stage.drain_at(ms(4_000));
        let stage = stage.run();
        let heard = listeners.iter().map(|listener| Heard::of(&stage.net.transcript(*listener)));
        let heard = heard.filter(|heard| heard.close == Some(1001)).collect::<Vec<_>>();
        let said = speakers.iter().map(|talk| talk.messages.len()).sum::<usize>();
        for one in &heard {
            assert_eq!(one.messages.len(), said, "{speakers:?}");
            assert!(one.messages == heard[0].messages, "two members got them in different orders");
        }
        for talk in &speakers {
            let mut rest = heard.first().map_or(&[][..], |heard| &heard.messages);
            for message in &talk.messages {
                let Some(at) = rest.iter().position(|other| other == message) else {
                    assert!(heard.is_empty(), "a speaker's messages keep their order");
                    break;
                };
                rest = &rest[at + 1..];
            }
        }
        assert_eq!(stage.shared.homes[0].topics.count(), 0, "all have left");
        let longest =
            ms(4_000 + stage.shared.limits.shutdown_grace_ms + stage.shared.limits.close_timeout_ms);
        assert!(stage.net.elapsed() <= longest + ms(300), "it took until {:?}", stage.net.elapsed());
    });
}

#[test]
fn a_silent_peer_is_pinged_and_then_cut() {
    let limits = Limits { ping_interval_ms: 1_000, pong_timeout_ms: 500, ..Limits::default() };
    let stage = Stage::new(1, ExecutionModel::default(), limits, Habits::default());
    let client =
        stage.net.add(Client::connecting_at(ms(0)).send("GET /Socket/1/0 HTTP/1.1\r\nHost: x\r\n\r\n"));
    stage.drain_at(ms(10_000));
    let stage = stage.run();
    let bytes = stage.net.transcript(client).bytes;
    assert!(bytes.ends_with(b"\r\n\r\n\x89\x00"), "one ping: {bytes:?}");
    let closed_at = stage.net.closed_at(client).expect("it was cut");
    assert!((ms(1_500)..=ms(1_700)).contains(&closed_at), "{closed_at:?}");
    let diary = [Entry::Opened, Entry::Failed(WebSocketError::PingTimeout), Entry::Closed(1006)];
    assert_eq!(entries(&stage, 1), diary);
}

#[test]
fn a_peer_that_is_not_read_from_is_not_taken_for_silent() {
    let limits = Limits {
        ping_interval_ms: 1_000,
        pong_timeout_ms: 500,
        pipeline_buffer_bytes: 1,
        ..Limits::default()
    };
    let habits = Habits { handler_us: 5_000_000..=5_000_000, ..Habits::default() };
    let stage = Stage::new(1, ExecutionModel::ThreadPool { threads: 1 }, limits, habits);
    let messages = ["one", "two", "three"].map(Message::from).to_vec();
    let mut talk = Talk { tag: 1, messages, pings: 0, end: Farewell::Close };
    let mut bytes = b"GET /Socket/1/0 HTTP/1.1\r\nHost: x\r\n\r\n".to_vec();
    bytes.extend(talk.frames(&mut Random::new(1)));
    let client = stage.net.add(Client::connecting_at(ms(0)).send(bytes));
    stage.drain_at(ms(60_000));
    let stage = stage.run();
    talk.check(&stage.net.transcript(client), &entries(&stage, 1));
}

#[test]
fn a_peer_that_answers_no_goodbye_is_cut() {
    let limits = Limits { close_timeout_ms: 700, shutdown_grace_ms: 0, ..Limits::default() };
    let stage = Stage::new(1, ExecutionModel::default(), limits, Habits::default());
    let client =
        stage.net.add(Client::connecting_at(ms(0)).send("GET /Socket/1/0 HTTP/1.1\r\nHost: x\r\n\r\n"));
    stage.drain_at(ms(1_000));
    let stage = stage.run();
    assert_eq!(Heard::of(&stage.net.transcript(client)).close, Some(1001));
    let closed_at = stage.net.closed_at(client).expect("it was cut");
    assert!((ms(1_700)..=ms(1_900)).contains(&closed_at), "{closed_at:?}");
    assert_eq!(entries(&stage, 1), [Entry::Opened, Entry::Closed(1006)]);
}

#[test]
fn a_peer_that_takes_nothing_is_cut_in_time() {
    let limits =
        Limits { write_stall_timeout_ms: 2_000, max_send_queue_bytes: 10_000_000, ..Limits::default() };
    let stage = Stage::new(1, ExecutionModel::default(), limits, Habits::default());
    let mut talk = Talk { tag: 1, messages: Vec::new(), pings: 0, end: Farewell::Silence };
    talk.messages = vec![Message::Binary(Bytes::from(vec![7; 500_000]))];
    let mut bytes = b"GET /Socket/1/0 HTTP/1.1\r\nHost: x\r\n\r\n".to_vec();
    bytes.extend(talk.frames(&mut Random::new(1)));
    let client = Client::connecting_at(ms(0)).send(bytes).reading(Reading::never());
    let client = stage.net.add(client.buffers(1_000_000, 10_000));
    stage.drain_at(ms(10_000));
    let stage = stage.run();
    let closed_at = stage.net.closed_at(client).expect("it was cut");
    assert!((ms(2_000)..=ms(2_300)).contains(&closed_at), "{closed_at:?}");
    let diary = [
        Entry::Opened,
        Entry::Message(500_000),
        Entry::Failed(WebSocketError::WriteStall),
        Entry::Closed(1006),
    ];
    assert_eq!(entries(&stage, 1), diary);
}
