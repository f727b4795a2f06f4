//! Feeds bytes to a connection and tells what came of it, as text.

use std::fmt::Write as _;

use tayet_http1::{BodyEvent, BodyLength, Connection, Head, HeadLimits};

/// What comes of `pieces`, one event a part, for instance `POST /p?q @host 1.1 keep 5 | "hello" | end`.
///
/// Data that came in several events counts as one.
pub(crate) fn outcome<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, limits: &HeadLimits) -> String {
    let mut receiver = Receiver::new(*limits);
    for piece in pieces {
        receiver.receive(piece);
    }
    receiver.finish()
}

/// What comes of `bytes` as a whole, having made sure that it is the same byte by byte and cut at each point.
pub(crate) fn outcome_however_cut(bytes: &[u8], limits: &HeadLimits) -> String {
    let whole = outcome([bytes], limits);
    assert_eq!(outcome(bytes.chunks(1), limits), whole, "byte by byte: {}", bytes.escape_ascii());
    for at in 0..=bytes.len() {
        let (first, second) = bytes.split_at(at);
        assert_eq!(outcome([first, second], limits), whole, "cut at {at}: {}", bytes.escape_ascii());
    }
    whole
}

/// A connection with one head that is used again and again.
pub(crate) struct Receiver {
    connection: Connection,
    head: Head,
    limits: HeadLimits,
    data: Vec<u8>,
    events: Vec<String>,
    is_refused: bool,
}

impl Receiver {
    pub(crate) fn new(limits: HeadLimits) -> Self {
        Self {
            connection: Connection::new(),
            head: Head::default(),
            limits,
            data: Vec::new(),
            events: Vec::new(),
            is_refused: false,
        }
    }

    pub(crate) fn receive(&mut self, mut input: &[u8]) {
        while !self.is_refused {
            let is_event = if self.connection.is_receiving_body() {
                self.receive_body(&mut input)
            } else {
                self.receive_head(&mut input)
            };
            if !is_event {
                assert!(self.is_refused || input.is_empty(), "more is wanted, but not all was taken");
                return;
            }
        }
    }

    pub(crate) fn finish(mut self) -> String {
        self.end_data();
        if self.connection.has_partial_head() {
            self.events.push("partial head".to_owned());
        } else if self.connection.is_receiving_body() {
            self.events.push("partial body".to_owned());
        }
        self.events.join(" | ")
    }

    fn receive_head(&mut self, input: &mut &[u8]) -> bool {
        match self.connection.receive_head(input, &mut self.head, &self.limits) {
            Ok(true) => self.events.push(describe(&self.head)),
            Ok(false) => {
                assert_eq!(format!("{:?}", self.head), format!("{:?}", Head::default()));
                return false;
            }
            Err(refusal) => self.refuse(refusal),
        }
        !self.is_refused
    }

    fn receive_body(&mut self, input: &mut &[u8]) -> bool {
        match self.connection.receive_body(input) {
            Ok(Some(BodyEvent::Data(data))) => {
                assert!(!data.is_empty());
                self.data.extend_from_slice(data);
            }
            Ok(Some(BodyEvent::End { trailers })) => {
                self.end_data();
                let mut text = "end".to_owned();
                for (name, value) in trailers.iter().flat_map(|trailers| trailers.iter()) {
                    write!(text, " {name}: {}", value.as_bytes().escape_ascii()).unwrap();
                }
                self.events.push(text);
            }
            Ok(None) => return false,
            Err(refusal) => self.refuse(refusal),
        }
        !self.is_refused
    }

    fn refuse(&mut self, refusal: tayet_http1::Refusal) {
        self.end_data();
        self.events.push(format!("{} {refusal:?}", refusal.status().as_u16()));
        self.is_refused = true;
        let mut more = &b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"[..];
        assert_eq!(self.connection.receive_head(&mut more, &mut self.head, &self.limits), Err(refusal));
        assert_eq!(self.connection.receive_body(&mut more), Err(refusal));
        assert_eq!(format!("{:?}", self.head), format!("{:?}", Head::default()));
    }

    fn end_data(&mut self) {
        if !self.data.is_empty() {
            self.events.push(format!("\"{}\"", self.data.escape_ascii()));
            self.data.clear();
        }
    }
}

/// For instance `GET /p?q @host 1.1 keep`; a body's length and `continue` follow.
fn describe(head: &Head) -> String {
    let mut text = format!("{} {}", head.method(), head.path());
    if let Some(query) = head.query() {
        write!(text, "?{query}").unwrap();
    }
    if let Some(authority) = head.authority() {
        write!(text, " @{authority}").unwrap();
    }
    let version = if head.version() == http::Version::HTTP_11 { "1.1" } else { "1.0" };
    write!(text, " {version} {}", if head.is_persistent() { "keep" } else { "close" }).unwrap();
    match head.body_length() {
        BodyLength::None => {}
        BodyLength::Fixed(length) => write!(text, " {length}").unwrap(),
        BodyLength::Chunked => text.push_str(" chunked"),
    }
    if head.expects_continue() {
        text.push_str(" continue");
    }
    text
}
