//! What the chat's page and the server say to each other: JSON, a message each.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tayet::Message;

/// Most letters of a person's name.
pub(super) const MAX_NAME_CHARS: usize = 24;
/// Most letters of a room's name.
pub(super) const MAX_ROOM_CHARS: usize = 32;
/// Most letters of what is said at once.
pub(super) const MAX_TEXT_CHARS: usize = 500;
/// Most bytes of the key by which a browser is known again.
pub(super) const MAX_VISITOR_BYTES: usize = 64;

/// What a page asks for.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Wish {
    /// To be in a room, and in no other.
    Join { room: String, name: String, visitor: String },
    /// To say something to all of its room.
    Say { text: String },
}

/// What the server tells.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Notice<'a> {
    /// To everybody: the rooms, whenever that changes.
    Rooms { rooms: Vec<RoomSummary<'a>> },
    /// To one who asked for a room: it is theirs.
    Joined { room: &'a RoomName, name: &'a Name },
    /// To all of a room: who is there, whenever that changes.
    People { room: &'a RoomName, names: Vec<&'a Name> },
    /// To all of a room, and later to those who join.
    Said { room: &'a RoomName, id: u64, at_ms: u64, name: &'a Name, text: &'a Text },
    /// To one whose wish is not granted.
    Refused { reason: Refusal, detail: String },
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct RoomSummary<'a> {
    pub(super) name: &'a RoomName,
    pub(super) people: usize,
}

impl Notice<'_> {
    pub(super) fn refused(refusal: Refusal) -> Self {
        Self::Refused { reason: refusal, detail: refusal.to_string() }
    }
}

impl From<&Notice<'_>> for Message {
    fn from(notice: &Notice<'_>) -> Self {
        serde_json::to_string(notice).expect("it has no keys but text").into()
    }
}

/// Why a wish is not granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Refusal {
    NotUnderstood,
    InvalidName,
    InvalidRoom,
    InvalidText,
    InvalidVisitor,
    NameTaken,
    RoomFull,
    TooManyRooms,
    NotJoined,
    TooFast,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUnderstood => f.write_str("That is nothing that this chat understands."),
            Self::InvalidName => write!(f, "A name has 1 to {MAX_NAME_CHARS} letters."),
            Self::InvalidRoom => {
                write!(f, "A room's name has 1 to {MAX_ROOM_CHARS} letters, digits and hyphens.")
            }
            Self::InvalidText => write!(f, "A message has 1 to {MAX_TEXT_CHARS} letters."),
            Self::InvalidVisitor => write!(f, "A visitor's key has 1 to {MAX_VISITOR_BYTES} bytes."),
            Self::NameTaken => f.write_str("Somebody else in this room has this name. Choose another."),
            Self::RoomFull => f.write_str("This room is full."),
            Self::TooManyRooms => f.write_str("There are as many rooms as there may be, and all are in use."),
            Self::NotJoined => f.write_str("Join a room first."),
            Self::TooFast => f.write_str("That was too fast. Wait a moment."),
        }
    }
}

impl std::error::Error for Refusal {}

/// A person's name: a line without surplus spaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Name(String);

impl Name {
    /// The same for names that differ in case alone.
    pub(super) fn key(&self) -> String {
        self.0.to_lowercase()
    }
}

impl FromStr for Name {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let name = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_valid = has_length(&name, MAX_NAME_CHARS) && !name.contains(char::is_control);
        if is_valid { Ok(Self(name)) } else { Err(Refusal::InvalidName) }
    }
}

/// A room's name, which stands in addresses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct RoomName(String);

impl RoomName {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RoomName {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let room = text.trim().to_lowercase();
        let is_valid = has_length(&room, MAX_ROOM_CHARS)
            && room.chars().all(|letter| letter.is_alphanumeric() || letter == '-');
        if is_valid { Ok(Self(room)) } else { Err(Refusal::InvalidRoom) }
    }
}

/// What somebody says.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Text(String);

impl FromStr for Text {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let text = text.trim();
        let is_valid = has_length(text, MAX_TEXT_CHARS)
            && !text.contains(|letter: char| letter.is_control() && letter != '\n');
        if is_valid { Ok(Self(text.to_owned())) } else { Err(Refusal::InvalidText) }
    }
}

/// What a browser made up to be known by again: whoever has it may use its name from several pages, and come back before
/// the server has noticed that it went. Never told to others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Visitor(String);

impl FromStr for Visitor {
    type Err = Refusal;

    fn from_str(key: &str) -> Result<Self, Refusal> {
        let is_valid = (1..=MAX_VISITOR_BYTES).contains(&key.len());
        if is_valid { Ok(Self(key.to_owned())) } else { Err(Refusal::InvalidVisitor) }
    }
}

fn has_length(text: &str, max_chars: usize) -> bool {
    (1..=max_chars).contains(&text.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_rooms_and_texts_have_their_lengths() {
        let is_ok = |limit: usize, parse: &dyn Fn(&str) -> bool| {
            [0, 1, limit, limit + 1].map(|letters| parse(&"\u{e4}".repeat(letters)))
        };
        let expected = [false, true, true, false];
        assert_eq!(is_ok(MAX_NAME_CHARS, &|text| text.parse::<Name>().is_ok()), expected);
        assert_eq!(is_ok(MAX_ROOM_CHARS, &|text| text.parse::<RoomName>().is_ok()), expected);
        assert_eq!(is_ok(MAX_TEXT_CHARS, &|text| text.parse::<Text>().is_ok()), expected);
        assert_eq!(is_ok(MAX_VISITOR_BYTES / 2, &|text| text.parse::<Visitor>().is_ok()), expected);
    }

    #[test]
    fn names_are_tidied() {
        assert_eq!("  Ada \t Lovelace\n".parse(), Ok(Name("Ada Lovelace".to_owned())));
        assert_eq!("a\u{0}".parse::<Name>(), Err(Refusal::InvalidName));
        assert_eq!(" Tea-2 ".parse(), Ok(RoomName("tea-2".to_owned())));
        assert_eq!("tea/2".parse::<RoomName>(), Err(Refusal::InvalidRoom));
        assert_eq!(" two\nlines ".parse(), Ok(Text("two\nlines".to_owned())));
        assert_eq!("a\u{7}".parse::<Text>(), Err(Refusal::InvalidText));
    }
}
