//! Frames, as far as a client needs them that sends and expects unfragmented messages (RFC 6455, section 5).

use anyhow::{bail, ensure};

const FIN: u8 = 0x80;
/// Set on a compressed message (RFC 7692, section 6).
const RSV1: u8 = 0x40;
const MASKED: u8 = 0x80;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opcode {
    Text = 1,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

/// A frame as a server sends it.
#[derive(PartialEq, Eq, Debug)]
pub struct Frame<'a> {
    pub opcode: Opcode,
    pub is_compressed: bool,
    pub payload: &'a [u8],
}

/// A source of masking keys, different each time. They guard no proxy here, so they need not be unpredictable.
pub struct Masks(u32);

impl Masks {
    pub fn new() -> Self {
        Self(0x9e37_79b9)
    }

    fn next(&mut self) -> [u8; 4] {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0.to_be_bytes()
    }
}

/// The frame at the beginning of `input` and how many bytes it takes; nothing while there is more to come.
pub fn parse(input: &[u8]) -> anyhow::Result<Option<(Frame<'_>, usize)>> {
    let [first, second, rest @ ..] = input else { return Ok(None) };
    ensure!(second & MASKED == 0, "the server masks its frames");
    ensure!(first & FIN != 0, "a message came in fragments");
    ensure!(first & 0x30 == 0, "a reserved bit is set");
    let opcode = opcode(first & 0x0f)?;
    let (length, rest, head_bytes) = match (second & 0x7f, rest) {
        (126, [a, b, rest @ ..]) => (usize::from(u16::from_be_bytes([*a, *b])), rest, 4),
        (127, _) => bail!("a frame is longer than any message that was sent"),
        (126, _) => return Ok(None),
        (length, rest) => (usize::from(length), rest, 2),
    };
    let Some(payload) = rest.get(..length) else { return Ok(None) };
    Ok(Some((Frame { opcode, is_compressed: first & RSV1 != 0, payload }, head_bytes + length)))
}

/// Appends a masked frame to `out`.
pub fn encode(opcode: Opcode, is_compressed: bool, payload: &[u8], masks: &mut Masks, out: &mut Vec<u8>) {
    let mask = masks.next();
    out.push(FIN | if is_compressed { RSV1 } else { 0 } | opcode as u8);
    match u8::try_from(payload.len()) {
        Ok(length @ 0..=125) => out.push(MASKED | length),
        _ => {
            let length = u16::try_from(payload.len()).expect("no message here is as long");
            out.push(MASKED | 126);
            out.extend_from_slice(&length.to_be_bytes());
        }
    }
    out.extend_from_slice(&mask);
    out.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
}

fn opcode(bits: u8) -> anyhow::Result<Opcode> {
    let known = [Opcode::Text, Opcode::Close, Opcode::Ping, Opcode::Pong];
    let Some(opcode) = known.into_iter().find(|opcode| *opcode as u8 == bits) else {
        bail!("a frame of opcode {bits} came, which answers nothing")
    };
    Ok(opcode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_complete_with_its_last_byte() {
        let long = [&[0x81, 126, 1, 0][..], &[b'x'; 256]].concat();
        for (bytes, length) in [(&b"\x81\x02hi"[..], 2), (&long, 256)] {
            for end in 0..bytes.len() {
                assert_eq!(parse(&bytes[..end]).unwrap(), None);
            }
            let (frame, taken) = parse(bytes).unwrap().unwrap();
            assert_eq!((frame.opcode, frame.payload.len(), taken), (Opcode::Text, length, bytes.len()));
        }
    }

    #[test]
    fn what_no_server_may_send_or_nobody_asked_for_is_refused() {
        for bytes in [&b"\x81\x82mask"[..], b"\x01\x02", b"\xa1\x02", b"\x82\x02", b"\x83\x02", b"\x81\x7f"] {
            assert!(parse(bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn what_is_encoded_is_masked_and_comes_back_unmasked() {
        let mut masks = Masks::new();
        for length in [0, 125, 126, 300] {
            let payload = vec![b'x'; length];
            let mut bytes = Vec::new();
            encode(Opcode::Text, true, &payload, &mut masks, &mut bytes);
            assert_eq!((bytes[0], bytes[1] & MASKED), (FIN | RSV1 | 1, MASKED));
            let (mask, masked) = bytes[bytes.len() - length - 4..].split_at(4);
            let unmasked: Vec<u8> = masked.iter().zip(mask.iter().cycle()).map(|(a, b)| a ^ b).collect();
            assert_eq!(unmasked, payload);
        }
    }
}
