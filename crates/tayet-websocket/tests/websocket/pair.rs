//! A client and a server that talk to each other.

use tayet_websocket::{
    Codec, DeflateAgreement, DeflateSettings, Event, Message, Offer, Receiver, Role, Sender,
};

use crate::support::{CLIENT, MAX_MESSAGE_BYTES};

pub(crate) struct Pair {
    pub(crate) agreement: Option<DeflateAgreement>,
    pub(crate) codec: Codec,
    pub(crate) server: End,
    pub(crate) client: End,
}

pub(crate) struct End {
    pub(crate) receiver: Receiver,
    pub(crate) sender: Sender,
}

impl Pair {
    pub(crate) fn new(agreement: Option<DeflateAgreement>) -> Self {
        Self {
            agreement,
            codec: Codec::new(),
            server: End::new(Role::Server, agreement),
            client: End::new(CLIENT, agreement),
        }
    }

    /// What the server gets of what the client sends.
    pub(crate) fn up(&mut self, message: &Message) -> Vec<Event> {
        let bytes = self.client.frame(message, &mut self.codec);
        self.server.receive(&bytes, &mut self.codec)
    }

    /// What the client gets of what the server sends.
    pub(crate) fn down(&mut self, message: &Message) -> Vec<Event> {
        let bytes = self.server.frame(message, &mut self.codec);
        self.client.receive(&bytes, &mut self.codec)
    }
}

impl End {
    fn new(role: Role, agreement: Option<DeflateAgreement>) -> Self {
        Self { receiver: Receiver::new(role, agreement), sender: Sender::new(role, agreement) }
    }

    pub(crate) fn frame(&mut self, message: &Message, codec: &mut Codec) -> Vec<u8> {
        let mut bytes = Vec::new();
        if let Some(tail) = self.sender.message(message, codec, &mut bytes) {
            bytes.extend_from_slice(&tail);
        }
        bytes
    }

    pub(crate) fn receive(&mut self, bytes: &[u8], codec: &mut Codec) -> Vec<Event> {
        let (mut input, mut events) = (bytes, Vec::new());
        while let Some(event) = self.receiver.receive(&mut input, MAX_MESSAGE_BYTES, codec).unwrap() {
            events.push(event);
        }
        assert!(input.is_empty() && !self.receiver.is_within_message());
        events
    }
}

/// What comes of an offer when both ends have settings.
pub(crate) fn negotiate(client: &DeflateSettings, server: &DeflateSettings) -> Option<DeflateAgreement> {
    let text = client.offer();
    let fields = |name: &str| match name {
        "upgrade" => vec![&b"websocket"[..]],
        "connection" => vec![&b"Upgrade"[..]],
        "sec-websocket-version" => vec![&b"13"[..]],
        "sec-websocket-key" => vec![&b"dGhlIHNhbXBsZSBub25jZQ=="[..]],
        "sec-websocket-extensions" => vec![text.as_bytes()],
        _ => vec![],
    };
    let offer = Offer::read("GET", true, fields).unwrap();
    let (agreement, answer) = offer.negotiate_deflate(server)?;
    let agreed = client.agree(&answer).expect("the client accepts what it has offered");
    assert_eq!(agreed.server_no_context_takeover(), agreement.server_no_context_takeover(), "{answer}");
    assert_eq!(agreed.server_max_window_bits(), agreement.server_max_window_bits(), "{answer}");
    Some(agreement)
}
