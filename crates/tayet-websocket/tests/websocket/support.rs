//! Two ends that talk to each other.

use tayet_websocket::{Codec, DeflateSettings, Event, Message, Offer, Receiver, Role, Sender};

const MAX_MESSAGE_BYTES: usize = 1 << 20;

pub(crate) struct Pair {
    codec: Codec,
    server: (Receiver, Sender),
    client: (Receiver, Sender),
}

pub(crate) const CLIENT: Role = Role::Client(|| [0x12, 0x34, 0x56, 0x78]);

impl Pair {
    pub(crate) fn new(deflate: Option<&DeflateSettings>) -> Self {
        let offer = deflate.map(DeflateSettings::offer).unwrap_or_default();
        let fields = |name: &str| match name {
            "upgrade" => vec![&b"websocket"[..]],
            "connection" => vec![&b"upgrade"[..]],
            "sec-websocket-version" => vec![&b"13"[..]],
            "sec-websocket-key" => vec![&b"dGhlIHNhbXBsZSBub25jZQ=="[..]],
            "sec-websocket-extensions" => vec![offer.as_bytes()],
            _ => vec![],
        };
        let offer = Offer::read("GET", true, fields).unwrap();
        let agreed = deflate.map(|settings| offer.negotiate_deflate(settings).unwrap());
        let agreement = agreed.as_ref().map(|(agreement, _)| *agreement);
        let own = agreed.as_ref().map(|(_, answer)| deflate.unwrap().agree(answer).unwrap());
        assert_eq!(own, agreement);
        let end = |role| (Receiver::new(role, agreement), Sender::new(role, agreement));
        Self { codec: Codec::new(), server: end(Role::Server), client: end(CLIENT) }
    }

    pub(crate) fn to_server(&mut self, message: &Message) -> Vec<Event> {
        transfer(&mut self.client.1, &mut self.server.0, &mut self.codec, message)
    }

    pub(crate) fn to_client(&mut self, message: &Message) -> Vec<Event> {
        transfer(&mut self.server.1, &mut self.client.0, &mut self.codec, message)
    }
}

fn transfer(
    sender: &mut Sender,
    receiver: &mut Receiver,
    codec: &mut Codec,
    message: &Message,
) -> Vec<Event> {
    let mut bytes = Vec::new();
    if let Some(tail) = sender.message(message, codec, &mut bytes) {
        bytes.extend_from_slice(&tail);
    }
    let mut input = &bytes[..];
    let mut events = Vec::new();
    while let Some(event) = receiver.receive(&mut input, MAX_MESSAGE_BYTES, codec).unwrap() {
        events.push(event);
    }
    assert!(input.is_empty());
    events
}
