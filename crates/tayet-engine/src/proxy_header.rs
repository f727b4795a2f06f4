//! The PROXY protocol, versions 1 and 2: what a proxy says of a connection before its first byte.
//!
//! <https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt>, sections 2.1 and 2.2.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Most bytes of a version 1 line, its end included.
const MAX_V1_BYTES: usize = 107;

/// Most bytes of a version 2 header: its 16 fixed ones, the addresses, and some room for extensions (TLVs).
pub(crate) const MAX_V2_BYTES: usize = 16 + 2_048;

const V2_SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";

/// A header read whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProxyHeader {
    /// Who connected to the proxy, and where. `None` when the proxy speaks for itself, or of something else than TCP.
    pub(crate) addresses: Option<(SocketAddr, SocketAddr)>,
    /// Bytes that the header takes.
    pub(crate) length: usize,
}

/// Bytes that begin no PROXY header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Invalid;

impl ProxyHeader {
    /// Reads the header at the front of `bytes`; `None` when it is not all there yet.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<Self>, Invalid> {
        let is_v2 = V2_SIGNATURE.starts_with(&bytes[..bytes.len().min(V2_SIGNATURE.len())]);
        if is_v2 { parse_v2(bytes) } else { parse_v1(bytes) }
    }
}

fn parse_v1(bytes: &[u8]) -> Result<Option<ProxyHeader>, Invalid> {
    const START: &[u8] = b"PROXY ";
    if !bytes.starts_with(&START[..bytes.len().min(START.len())]) {
        return Err(Invalid);
    }
    let line = &bytes[..bytes.len().min(MAX_V1_BYTES)];
    let Some(end) = line.windows(2).position(|pair| pair == b"\r\n") else {
        return if bytes.len() < MAX_V1_BYTES { Ok(None) } else { Err(Invalid) };
    };
    let text = std::str::from_utf8(&line[START.len()..end]).map_err(|_| Invalid)?;
    let length = end + 2;
    let mut words = text.split(' ');
    let family = words.next();
    if family == Some("UNKNOWN") {
        return Ok(Some(ProxyHeader { addresses: None, length }));
    }
    let mut next = || words.next().ok_or(Invalid);
    let source: IpAddr = next()?.parse().map_err(|_| Invalid)?;
    let destination: IpAddr = next()?.parse().map_err(|_| Invalid)?;
    let source = SocketAddr::new(source, port(next()?)?);
    let destination = SocketAddr::new(destination, port(next()?)?);
    let is_family = match family {
        Some("TCP4") => source.is_ipv4() && destination.is_ipv4(),
        Some("TCP6") => source.is_ipv6() && destination.is_ipv6(),
        _ => false,
    };
    if !is_family || words.next().is_some() {
        return Err(Invalid);
    }
    Ok(Some(ProxyHeader { addresses: Some((source, destination)), length }))
}

fn port(text: &str) -> Result<u16, Invalid> {
    if text.starts_with('+') { Err(Invalid) } else { text.parse().map_err(|_| Invalid) }
}

fn parse_v2(bytes: &[u8]) -> Result<Option<ProxyHeader>, Invalid> {
    let Some((fixed, rest)) = bytes.split_first_chunk::<16>() else { return Ok(None) };
    let body_length = usize::from(u16::from_be_bytes([fixed[14], fixed[15]]));
    let length = 16 + body_length;
    if fixed[12] >> 4 != 2 || length > MAX_V2_BYTES {
        return Err(Invalid);
    }
    let Some(body) = rest.get(..body_length) else { return Ok(None) };
    let addresses = match (fixed[12] & 0xF, fixed[13]) {
        (0, _) => None,
        (1, 0x11) => Some(v4_addresses(body.first_chunk().ok_or(Invalid)?)),
        (1, 0x21) => Some(v6_addresses(body.first_chunk().ok_or(Invalid)?)),
        (1, _) => None,
        _ => return Err(Invalid),
    };
    Ok(Some(ProxyHeader { addresses, length }))
}

fn v4_addresses(block: &[u8; 12]) -> (SocketAddr, SocketAddr) {
    let at = |from: usize| Ipv4Addr::new(block[from], block[from + 1], block[from + 2], block[from + 3]);
    let port = |from: usize| u16::from_be_bytes([block[from], block[from + 1]]);
    ((at(0), port(8)).into(), (at(4), port(10)).into())
}

fn v6_addresses(block: &[u8; 36]) -> (SocketAddr, SocketAddr) {
    let at = |from: usize| {
        let mut octets = [0; 16];
        octets.copy_from_slice(&block[from..from + 16]);
        Ipv6Addr::from(octets)
    };
    let port = |from: usize| u16::from_be_bytes([block[from], block[from + 1]]);
    ((at(0), port(32)).into(), (at(16), port(34)).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v2(command: u8, family: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = V2_SIGNATURE.to_vec();
        bytes.extend_from_slice(&[0x20 | command, family]);
        bytes.extend_from_slice(&(body.len() as u16).to_be_bytes());
        bytes.extend_from_slice(body);
        bytes
    }

    /// A header's bytes, and the source and destination that it names.
    type Case = (Vec<u8>, Option<(&'static str, &'static str)>);

    fn accepted() -> Vec<Case> {
        let v4 = [192, 0, 2, 1, 198, 51, 100, 7, 0xDC, 0x04, 0x01, 0xBB];
        let mut v6 = [0; 36];
        (v6[15], v6[31], v6[33], v6[35]) = (1, 2, 80, 90);
        let mut with_extension = v4.to_vec();
        with_extension.extend_from_slice(&[4, 0, 1, 0]);
        vec![
            (
                b"PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\r\n".to_vec(),
                Some(("192.0.2.1:56324", "198.51.100.7:443")),
            ),
            (b"PROXY TCP6 ::1 ::2 80 90\r\n".to_vec(), Some(("[::1]:80", "[::2]:90"))),
            (b"PROXY UNKNOWN\r\n".to_vec(), None),
            (b"PROXY UNKNOWN ::1 ::2 1 2\r\n".to_vec(), None),
            (v2(1, 0x11, &v4), Some(("192.0.2.1:56324", "198.51.100.7:443"))),
            (v2(1, 0x11, &with_extension), Some(("192.0.2.1:56324", "198.51.100.7:443"))),
            (v2(1, 0x21, &v6), Some(("[::1]:80", "[::2]:90"))),
            (v2(0, 0, &[]), None),
            (v2(1, 0x31, &[0; 216]), None),
        ]
    }

    #[test]
    fn headers_are_read_however_they_are_cut() {
        for (mut bytes, expected) in accepted() {
            let addresses = expected.map(|(from, to)| (from.parse().unwrap(), to.parse().unwrap()));
            let length = bytes.len();
            for cut in 0..length {
                assert_eq!(ProxyHeader::parse(&bytes[..cut]), Ok(None), "{bytes:?} cut at {cut}");
            }
            bytes.extend_from_slice(b"GET / HTTP/1.1\r\n");
            assert_eq!(ProxyHeader::parse(&bytes), Ok(Some(ProxyHeader { addresses, length })), "{bytes:?}");
        }
    }

    #[test]
    fn what_is_no_header_is_refused() {
        let mut long = b"PROXY UNKNOWN ".to_vec();
        long.resize(MAX_V1_BYTES, b'x');
        let mut wrong_version = v2(1, 0x11, &[0; 12]);
        wrong_version[12] = 0x11;
        for bytes in [
            b"GET / HTTP/1.1\r\n".to_vec(),
            b"PROXY TCP4 ::1 ::2 1 2\r\n".to_vec(),
            b"PROXY TCP4 192.0.2.1 198.51.100.7 1\r\n".to_vec(),
            b"PROXY TCP4 192.0.2.1 198.51.100.7 1 2 3\r\n".to_vec(),
            b"PROXY TCP4 192.0.2.1 198.51.100.7 1 65536\r\n".to_vec(),
            b"PROXY TCP4 192.0.2.1 198.51.100.7 +1 2\r\n".to_vec(),
            b"PROXY SCTP 192.0.2.1 198.51.100.7 1 2\r\n".to_vec(),
            long,
            wrong_version,
            v2(1, 0x11, &[0; 11]),
            v2(2, 0x11, &[0; 12]),
            v2(1, 0x11, &[0; 2_049]),
        ] {
            assert_eq!(ProxyHeader::parse(&bytes), Err(Invalid), "{bytes:?}");
        }
    }
}
