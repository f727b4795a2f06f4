//! Frame headers (RFC 6455 section 5.2).

use crate::Failure;
use crate::mask::Mask;

/// The bytes of payload that a ping, pong or close frame may have (RFC 6455 section 5.5).
pub const MAX_CONTROL_PAYLOAD_BYTES: usize = 125;

/// The longest header: two bytes, eight of length, four of masking key.
pub(crate) const MAX_HEADER_BYTES: usize = 14;

const FIN: u8 = 0x80;
const RSV1: u8 = 0x40;
const RSV2_AND_3: u8 = 0x30;
const OPCODE: u8 = 0x0f;
const MASKED: u8 = 0x80;
const LENGTH: u8 = 0x7f;
const LENGTH_IN_2_BYTES: u8 = 126;
const LENGTH_IN_8_BYTES: u8 = 127;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Opcode {
    Continuation = 0x0,
    Text = 0x1,
    Binary = 0x2,
    Close = 0x8,
    Ping = 0x9,
    Pong = 0xa,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) is_final: bool,
    /// RSV1: the message that begins here is compressed (RFC 7692 section 6).
    pub(crate) is_compressed: bool,
    pub(crate) opcode: Opcode,
    pub(crate) payload_bytes: u64,
    pub(crate) mask: Option<Mask>,
}

/// What decides whether a header is in order where it stands.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Expectation {
    pub(crate) is_masked: bool,
    pub(crate) may_be_compressed: bool,
    pub(crate) is_within_message: bool,
}

impl Opcode {
    pub(crate) fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }

    fn from_bits(bits: u8) -> Option<Self> {
        Some(match bits {
            0x0 => Self::Continuation,
            0x1 => Self::Text,
            0x2 => Self::Binary,
            0x8 => Self::Close,
            0x9 => Self::Ping,
            0xa => Self::Pong,
            _ => return None,
        })
    }
}

impl Header {
    /// The header at the front of `bytes`, and its length. `None`: it isn't complete, and what is there of it
    /// is in order.
    ///
    /// What is wrong shows as soon as the byte is there that makes it so.
    #[inline]
    pub(crate) fn parse(bytes: &[u8], expectation: Expectation) -> Result<Option<(Self, usize)>, Failure> {
        let Some(&first) = bytes.first() else { return Ok(None) };
        let opcode = check_first_byte(first, expectation)?;
        let Some(&second) = bytes.get(1) else { return Ok(None) };
        let short_length = check_second_byte(second, opcode, expectation)?;
        let Some((payload_bytes, length_end)) = read_length(bytes, short_length)? else { return Ok(None) };
        let mut header = Self {
            is_final: first & FIN != 0,
            is_compressed: first & RSV1 != 0,
            opcode,
            payload_bytes,
            mask: None,
        };
        if !expectation.is_masked {
            return Ok(Some((header, length_end)));
        }
        let Some(key) = bytes[length_end..].first_chunk() else { return Ok(None) };
        header.mask = Some(Mask(*key));
        Ok(Some((header, length_end + key.len())))
    }

    /// Appends the header in its shortest form.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let fin = if self.is_final { FIN } else { 0 };
        let rsv1 = if self.is_compressed { RSV1 } else { 0 };
        let masked = if self.mask.is_some() { MASKED } else { 0 };
        out.push(fin | rsv1 | self.opcode as u8);
        match self.payload_bytes {
            length @ 0..=125 => out.push(masked | length as u8),
            length @ 126..=0xffff => {
                out.push(masked | LENGTH_IN_2_BYTES);
                out.extend_from_slice(&(length as u16).to_be_bytes());
            }
            length => {
                out.push(masked | LENGTH_IN_8_BYTES);
                out.extend_from_slice(&length.to_be_bytes());
            }
        }
        if let Some(Mask(key)) = self.mask {
            out.extend_from_slice(&key);
        }
    }
}

#[inline]
fn check_first_byte(byte: u8, expectation: Expectation) -> Result<Opcode, Failure> {
    if byte & RSV2_AND_3 != 0 {
        return Err(Failure::ReservedBit);
    }
    let opcode = Opcode::from_bits(byte & OPCODE).ok_or(Failure::UnknownOpcode)?;
    let begins_message = matches!(opcode, Opcode::Text | Opcode::Binary);
    if byte & RSV1 != 0 && !(begins_message && expectation.may_be_compressed) {
        return Err(Failure::ReservedBit);
    }
    if opcode.is_control() && byte & FIN == 0 {
        return Err(Failure::FragmentedControlFrame);
    }
    match opcode {
        Opcode::Continuation if !expectation.is_within_message => Err(Failure::UnexpectedContinuation),
        _ if begins_message && expectation.is_within_message => Err(Failure::InterruptedMessage),
        _ => Ok(opcode),
    }
}

#[inline]
fn check_second_byte(byte: u8, opcode: Opcode, expectation: Expectation) -> Result<u8, Failure> {
    match (byte & MASKED != 0, expectation.is_masked) {
        (false, true) => return Err(Failure::NotMasked),
        (true, false) => return Err(Failure::Masked),
        _ => {}
    }
    let length = byte & LENGTH;
    if opcode.is_control() && usize::from(length) > MAX_CONTROL_PAYLOAD_BYTES {
        return Err(Failure::ControlFrameTooLong);
    }
    Ok(length)
}

/// The length of the payload, and where in the header the length ends.
#[inline]
fn read_length(bytes: &[u8], short_length: u8) -> Result<Option<(u64, usize)>, Failure> {
    match short_length {
        LENGTH_IN_2_BYTES => {
            let Some(&length) = bytes[2..].first_chunk() else { return Ok(None) };
            let length = u64::from(u16::from_be_bytes(length));
            if length < u64::from(LENGTH_IN_2_BYTES) {
                return Err(Failure::LengthNotMinimal);
            }
            Ok(Some((length, 4)))
        }
        LENGTH_IN_8_BYTES => {
            let Some(&length) = bytes[2..].first_chunk() else { return Ok(None) };
            let length = u64::from_be_bytes(length);
            if length <= u64::from(u16::MAX) {
                return Err(Failure::LengthNotMinimal);
            }
            if i64::try_from(length).is_err() {
                return Err(Failure::LengthTooLarge);
            }
            Ok(Some((length, 10)))
        }
        length => Ok(Some((u64::from(length), 2))),
    }
}
