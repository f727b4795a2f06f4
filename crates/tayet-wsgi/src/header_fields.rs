//! From `User-Agent: curl` to `HTTP_USER_AGENT` and its text.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::text;

/// Slots that fields are remembered in, each by the hash of its name.
const SLOTS: usize = 256;

/// Values up to this size are remembered.
const MAX_REMEMBERED_VALUE_BYTES: usize = 256;

/// Names that are interned, so that an application's lookups find them by their address. An interpreter may keep what is interned
/// for good, and a client may make up names.
const MAX_INTERNED_NAMES: usize = 512;

/// Fields whose values are not remembered: they tell who asks.
const SECRETS: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];

/// The header fields that were seen last, as they stand in an environ. Clients say the same of themselves in request after request,
/// and much of it is what others say, too: to compare costs a tenth of making a text.
pub(crate) struct HeaderFields(Mutex<Remembered>);

struct Remembered {
    slots: [Option<Slot>; SLOTS],
    interned_names: usize,
}

/// What is known of a field.
struct Slot {
    /// As it was sent; other cases of it are the same field.
    name: Box<str>,
    /// `None` for one that is not to be in an environ.
    key: Option<Py<PyString>>,
    last: Option<Value>,
    is_secret: bool,
}

struct Value {
    bytes: Vec<u8>,
    text: Py<PyString>,
}

/// A field's key and value in an environ.
pub(crate) type Item<'py> = (Bound<'py, PyString>, Bound<'py, PyString>);

impl Default for HeaderFields {
    fn default() -> Self {
        Self(Mutex::new(Remembered { slots: [const { None }; SLOTS], interned_names: 0 }))
    }
}

impl HeaderFields {
    /// A field of a request. `None` for one that is not to be in the environ: with an underscore in its name, which a client could
    /// pass off as a hyphen, and `Proxy`, which programs take for their own setting.
    pub(crate) fn item<'py>(
        &self,
        py: Python<'py>,
        number: SlotNumber,
        name: &str,
        value: &[u8],
    ) -> Option<Item<'py>> {
        // Nothing is made under the lock, as in `Environ::begin`.
        let known = self.lock().slot(number, name).map(|slot| slot.item(py, value));
        match known {
            Some(Known::Both(key, text)) => Some((key, text)),
            Some(Known::Key(key)) => {
                let text = text::from_bytes(py, value);
                let before = self.lock().slot(number, name).and_then(|slot| slot.remember(value, &text));
                drop(before);
                Some((key, text))
            }
            Some(Known::Left) => None,
            None => self.learn(py, number, name).map(|key| (key, text::from_bytes(py, value))),
        }
    }

    fn learn<'py>(&self, py: Python<'py>, number: SlotNumber, name: &str) -> Option<Bound<'py, PyString>> {
        let key = environ_name(name).map(|text| match self.lock().may_intern() {
            true => PyString::intern(py, &text),
            false => PyString::new(py, &text),
        });
        let slot = Slot {
            name: name.into(),
            key: key.clone().map(Bound::unbind),
            last: None,
            is_secret: SECRETS.iter().any(|secret| name.eq_ignore_ascii_case(secret)),
        };
        let before = self.lock().slots[number.0].replace(slot);
        drop(before);
        key
    }

    fn lock(&self) -> MutexGuard<'_, Remembered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Remembered {
    fn slot(&mut self, number: SlotNumber, name: &str) -> Option<&mut Slot> {
        let is_same = |slot: &&mut Slot| *slot.name == *name || slot.name.eq_ignore_ascii_case(name);
        self.slots[number.0].as_mut().filter(is_same)
    }

    fn may_intern(&mut self) -> bool {
        self.interned_names += 1;
        self.interned_names <= MAX_INTERNED_NAMES
    }
}

/// What a slot tells of a field.
enum Known<'py> {
    Both(Bound<'py, PyString>, Bound<'py, PyString>),
    /// Its value is another than before.
    Key(Bound<'py, PyString>),
    /// It is not to be in the environ.
    Left,
}

impl Slot {
    fn item<'py>(&self, py: Python<'py>, value: &[u8]) -> Known<'py> {
        let Some(key) = &self.key else { return Known::Left };
        let key = key.bind(py).clone();
        match &self.last {
            Some(last) if last.bytes == value => Known::Both(key, last.text.bind(py).clone()),
            _ => Known::Key(key),
        }
    }

    /// Returns the text before, to be dropped without the lock.
    fn remember(&mut self, value: &[u8], text: &Bound<'_, PyString>) -> Option<Py<PyString>> {
        if self.is_secret || value.len() > MAX_REMEMBERED_VALUE_BYTES {
            return None;
        }
        let text = text.clone().unbind();
        match &mut self.last {
            Some(last) => {
                last.bytes.clear();
                last.bytes.extend_from_slice(value);
                Some(std::mem::replace(&mut last.text, text))
            }
            None => {
                self.last = Some(Value { bytes: value.to_vec(), text });
                None
            }
        }
    }
}

/// Where a field is remembered: the same for all cases of its name.
#[derive(Clone, Copy)]
pub(crate) struct SlotNumber(usize);

impl SlotNumber {
    pub(crate) fn of(name: &str) -> Self {
        // Tells some seventy names that are met apart, but for five that hardly are.
        const FACTOR: u32 = 0xc2b2_ae35;
        let name = name.as_bytes();
        let byte = |at: usize| u32::from(name.get(at).map_or(0, |byte| byte | 0x20));
        let bytes = [byte(0), byte(name.len().saturating_sub(4)), byte(name.len().saturating_sub(1))];
        let mix = |hash: u32, byte: &u32| hash.wrapping_mul(FACTOR).wrapping_add(*byte);
        let hash = bytes.iter().fold(name.len() as u32, mix).wrapping_mul(FACTOR);
        Self((hash >> 24) as usize)
    }
}

/// The slots of the fields that a request has had so far.
#[derive(Default)]
pub(crate) struct SlotsMet([u64; SLOTS / 64]);

impl SlotsMet {
    /// Adds one; `false` where it is there already: then a field of the same name may be, too.
    pub(crate) fn add(&mut self, number: SlotNumber) -> bool {
        let (word, bit) = (&mut self.0[number.0 / 64], 1 << (number.0 % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}

fn environ_name(name: &str) -> Option<String> {
    if name.contains('_') || name.eq_ignore_ascii_case("proxy") {
        return None;
    }
    let name = name.to_ascii_uppercase().replace('-', "_");
    // The two that CGI knows without the prefix.
    Some(if matches!(&*name, "CONTENT_TYPE" | "CONTENT_LENGTH") { name } else { format!("HTTP_{name}") })
}
