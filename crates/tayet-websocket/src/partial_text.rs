//! Text that comes in pieces.

use crate::{Failure, Text};

/// What has come of a text, checked up to its last byte.
#[derive(Debug, Default)]
pub(crate) struct PartialText {
    text: String,
    /// The front of a character of which more is to come.
    split: [u8; 4],
    split_length: usize,
}

impl PartialText {
    pub(crate) fn len(&self) -> usize {
        self.text.len() + self.split_length
    }

    pub(crate) fn capacity(&self) -> usize {
        self.text.capacity()
    }

    pub(crate) fn reserve_exact(&mut self, bytes: usize) {
        self.text.reserve_exact(bytes);
    }

    /// The last bytes that have come, up to `max_bytes`.
    pub(crate) fn last_bytes(&self, max_bytes: usize) -> Vec<u8> {
        let text = self.text.as_bytes();
        let text = &text[text.len().saturating_sub(max_bytes)..];
        let bytes = [text, &self.split[..self.split_length]].concat();
        bytes[bytes.len().saturating_sub(max_bytes)..].to_vec()
    }

    /// Appends bytes. Fails as soon as nothing that could follow would make them UTF-8.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) -> Result<(), Failure> {
        self.complete_split(&mut bytes)?;
        let (whole, split) = bytes.split_at(bytes.len() - split_length(bytes));
        self.text.push_str(str::from_utf8(whole).map_err(|_| Failure::InvalidUtf8)?);
        if !split.is_empty() {
            check_split(split)?;
            self.split[..split.len()].copy_from_slice(split);
            self.split_length = split.len();
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<Text, Failure> {
        if self.split_length > 0 {
            return Err(Failure::InvalidUtf8);
        }
        Ok(self.text.into())
    }

    /// Takes bytes off the front until the split character is whole.
    fn complete_split(&mut self, bytes: &mut &[u8]) -> Result<(), Failure> {
        while self.split_length > 0 {
            let Some((&byte, rest)) = bytes.split_first() else { return Ok(()) };
            *bytes = rest;
            self.split[self.split_length] = byte;
            self.split_length += 1;
            let split = &self.split[..self.split_length];
            match str::from_utf8(split) {
                Ok(character) => {
                    self.text.push_str(character);
                    self.split_length = 0;
                }
                Err(_) => check_split(split)?,
            }
        }
        Ok(())
    }
}

/// How many bytes at the end begin a character and don't end it.
fn split_length(bytes: &[u8]) -> usize {
    for (behind, &byte) in bytes.iter().rev().take(3).enumerate() {
        let character_length = match byte {
            0x80..=0xbf => continue,
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0.. => 4,
            _ => 1,
        };
        let there = behind + 1;
        return if character_length > there { there } else { 0 };
    }
    0
}

/// Whether `bytes` are the front of a character.
fn check_split(bytes: &[u8]) -> Result<(), Failure> {
    match str::from_utf8(bytes) {
        Err(error) if error.valid_up_to() == 0 && error.error_len().is_none() => Ok(()),
        _ => Err(Failure::InvalidUtf8),
    }
}
