//! What the crate does with bytes, from outside.

mod support;

use support::Pair;
use tayet_websocket::{DeflateSettings, Event, Message};

#[test]
fn smoke() {
    for settings in [None, Some(DeflateSettings { min_bytes: 1, ..DeflateSettings::default() })] {
        let mut pair = Pair::new(settings.as_ref());
        for text in ["", "a", "hello hello hello hello hello hello hello", &"äöü€😀 ".repeat(10_000)] {
            assert_eq!(pair.to_server(&text.into()), [Event::Message(Message::from(text))]);
            assert_eq!(pair.to_client(&text.into()), [Event::Message(Message::from(text))]);
        }
    }
}
