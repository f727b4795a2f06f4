//! The chat over real sockets.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use tayet::websocket::{CloseFrame, Codec, Event, Receiver, Role, Sender};
use tayet::{Router, Server, ServerHandle};

use super::allowance::{MAX_BURST_MESSAGES, MAX_EXCESS_MESSAGES};
use super::*;

/// How long a message may take that comes at once on an idle machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// Any will do between a program and itself.
const MASK: fn() -> [u8; 4] = || [1, 2, 3, 4];

/// A server of the chat alone, ended when it is dropped.
struct Hall(ServerHandle);

impl Hall {
    fn open() -> Self {
        let app: Router = super::router();
        Self(Server::new(app).bind("127.0.0.1:0").unwrap().start().unwrap())
    }

    fn enter(&self) -> Guest {
        let mut connection = TcpStream::connect(self.0.addresses()[0].to_string()).unwrap();
        connection.set_read_timeout(Some(PATIENCE)).unwrap();
        let request = "GET /chat/socket HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                       Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        connection.write_all(request.as_bytes()).unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            connection.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        assert!(head.starts_with(b"HTTP/1.1 101 "), "{}", String::from_utf8_lossy(&head));
        Guest {
            connection,
            receiver: Receiver::new(Role::Client(MASK), None),
            sender: Sender::new(Role::Client(MASK), None),
            codec: Codec::new(),
            unread: Vec::new(),
        }
    }

    /// One who is in a room, and has heard so.
    fn guest(&self, name: &str, room: &str) -> Guest {
        let mut guest = self.enter();
        guest.join(name, room);
        guest.hear("joined");
        guest
    }
}

impl Drop for Hall {
    fn drop(&mut self) {
        self.0.shutdown();
        self.0.join();
    }
}

/// A socket of a page.
struct Guest {
    connection: TcpStream,
    receiver: Receiver,
    sender: Sender,
    codec: Codec,
    unread: Vec<u8>,
}

impl Guest {
    fn join(&mut self, name: &str, room: &str) {
        self.tell(&json!({ "type": "join", "room": room, "name": name, "visitor": name }));
    }

    fn say(&mut self, text: &str) {
        self.tell(&json!({ "type": "say", "text": text }));
    }

    fn tell(&mut self, wish: &Value) {
        self.send(wish.to_string());
    }

    fn send(&mut self, message: impl Into<Message>) {
        let mut out = Vec::new();
        let tail = self.sender.message(&message.into(), &mut self.codec, &mut out);
        out.extend(tail.iter().flatten());
        self.connection.write_all(&out).unwrap();
    }

    /// The next notice of this type.
    fn hear(&mut self, wanted: &str) -> Value {
        loop {
            let Event::Message(message) = self.next() else { panic!("`{wanted}` does not come") };
            let notice: Value = serde_json::from_slice(message.as_bytes()).unwrap();
            if notice["type"] == wanted {
                return notice;
            }
        }
    }

    fn hear_goodbye(&mut self) -> CloseFrame {
        loop {
            if let Event::Close(frame) = self.next() {
                return frame.unwrap();
            }
        }
    }

    fn next(&mut self) -> Event {
        loop {
            let mut rest = &self.unread[..];
            let event = self.receiver.receive(&mut rest, 1024 * 1024, &mut self.codec).unwrap();
            let read = self.unread.len() - rest.len();
            self.unread.drain(..read);
            if let Some(event) = event {
                return event;
            }
            let mut buffer = [0; 4096];
            let length = self.connection.read(&mut buffer).unwrap();
            assert!(length > 0, "the server has gone");
            self.unread.extend(&buffer[..length]);
        }
    }
}

#[test]
fn those_in_a_room_hear_each_other_and_nobody_else() {
    let hall = Hall::open();
    let mut ada = hall.guest("Ada", "tea");
    let mut grace = hall.guest("Grace", "tea");
    let mut alan = hall.guest("Alan", "coffee");
    ada.say("milk?");
    alan.say("sugar?");
    for guest in [&mut ada, &mut grace] {
        let said = guest.hear("said");
        assert_eq!(
            (&said["name"], &said["text"], &said["room"]),
            (&json!("Ada"), &json!("milk?"), &json!("tea"))
        );
    }
    assert_eq!(alan.hear("said")["text"], "sugar?");
}

#[test]
fn those_who_come_hear_what_was_said_last() {
    let hall = Hall::open();
    let said: Vec<String> = (0..=KEPT_MESSAGES).map(|number| number.to_string()).collect();
    // As many as one may say at once, having joined.
    for texts in said.chunks(MAX_BURST_MESSAGES as usize - 1) {
        let mut guest = hall.guest(&texts[0], "tea");
        texts.iter().for_each(|text| guest.say(text));
        while guest.hear("said")["text"] != texts[texts.len() - 1] {}
    }
    let mut late = hall.guest("Late", "tea");
    let heard: Vec<Value> = (0..KEPT_MESSAGES).map(|_| late.hear("said")).collect();
    let texts: Vec<&str> = heard.iter().map(|said| said["text"].as_str().unwrap()).collect();
    assert_eq!(texts, said[1..]);
    assert!(heard.windows(2).all(|pair| pair[0]["id"].as_u64() < pair[1]["id"].as_u64()), "{heard:?}");
}

#[test]
fn a_room_knows_who_is_there() {
    let hall = Hall::open();
    let mut ada = hall.guest("Ada", "tea");
    assert_eq!(ada.hear("people")["names"], json!(["Ada"]));
    let mut grace = hall.guest("Grace", "tea");
    assert_eq!(ada.hear("people")["names"], json!(["Ada", "Grace"]));
    grace.join("Grace", "coffee");
    assert_eq!(ada.hear("people")["names"], json!(["Ada"]));
    while grace.hear("people")["room"] != "coffee" {}
    ada.join("Ada", "coffee");
    assert_eq!(grace.hear("people")["names"], json!(["Ada", "Grace"]));
    drop(ada);
    assert_eq!(grace.hear("people")["names"], json!(["Grace"]));
    let rooms = json!([{ "name": "coffee", "people": 1 }, { "name": "tea", "people": 0 }]);
    while grace.hear("rooms")["rooms"] != rooms {}
}

#[test]
fn one_who_is_in_no_room_is_told_which_there_are() {
    let hall = Hall::open();
    let mut visitor = hall.enter();
    assert_eq!(visitor.hear("rooms")["rooms"], json!([]));
    let _ada = hall.guest("Ada", "tea");
    assert_eq!(visitor.hear("rooms")["rooms"], json!([{ "name": "tea", "people": 1 }]));
}

#[test]
fn what_cannot_be_is_refused_with_its_reason() {
    let hall = Hall::open();
    let _ada = hall.guest("Ada", "tea");
    let mut guest = hall.enter();
    let join = |room: &str, name: &str, visitor: &str| {
        json!({ "type": "join", "room": room, "name": name, "visitor": visitor }).to_string()
    };
    for (wish, reason) in [
        ("no JSON".to_owned(), "not_understood"),
        (json!({ "type": "shout" }).to_string(), "not_understood"),
        (json!({ "type": "say", "text": "x" }).to_string(), "not_joined"),
        (join("a/b", "Grace", "g"), "invalid_room"),
        (join("tea", "", "g"), "invalid_name"),
        (join("tea", "Grace", ""), "invalid_visitor"),
        (join("tea", "ada", "g"), "name_taken"),
    ] {
        guest.send(wish.as_str());
        let refused = guest.hear("refused");
        assert_eq!(refused["reason"], reason, "{wish}");
        assert!(refused["detail"].as_str().is_some_and(|detail| detail.ends_with('.')), "{refused}");
    }
}

#[test]
fn one_who_says_too_much_is_refused_and_then_shown_the_door() {
    let hall = Hall::open();
    let mut guest = hall.guest("Ada", "tea");
    for _ in 0..MAX_BURST_MESSAGES {
        guest.say("again");
    }
    assert_eq!(guest.hear("refused")["reason"], "too_fast");
    for _ in 0..=MAX_EXCESS_MESSAGES + 100 {
        guest.say("and again");
    }
    assert_eq!(guest.hear_goodbye().code(), CloseCode::POLICY_VIOLATION);
}

#[test]
fn a_message_that_is_too_large_closes_the_socket() {
    let hall = Hall::open();
    let mut guest = hall.guest("Ada", "tea");
    guest.say(&"x".repeat(MAX_MESSAGE_BYTES));
    assert_eq!(guest.hear_goodbye().code(), CloseCode::MESSAGE_TOO_BIG);
}
