//! `host[:port]`, in Host and in targets.

use std::net::Ipv6Addr;

use crate::byte::{DIGIT, REG_NAME};

/// The port of an authority.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    Absent,
    /// A colon without digits, which RFC 3986 section 3.2.3 allows.
    Empty,
    Given,
}

const HIGHEST_PORT: &[u8] = b"65535";

/// Checks `uri-host [ ":" port ]` (RFC 9110 section 7.2) with a host that isn't empty. `None`: it's
/// malformed.
///
/// User information is refused (RFC 9110 section 4.2.4), as are zones and `IPvFuture` in brackets.
pub(crate) fn check(authority: &[u8]) -> Option<Port> {
    let (length, port) = read(authority)?;
    (length == authority.len()).then_some(port)
}

/// Reads the authority that `bytes` begin with, as far as it goes, and gives its length and its port.
/// `None`: it's malformed.
#[inline(always)]
pub(crate) fn read(bytes: &[u8]) -> Option<(usize, Port)> {
    let host_length = host_length(bytes)?;
    if bytes.get(host_length) != Some(&b':') {
        return Some((host_length, Port::Absent));
    }
    let length = DIGIT.find_other(bytes, host_length + 1).map_or(bytes.len(), |(length, _)| length);
    let digits = &bytes[host_length + 1..length];
    let port = match digits.len() {
        1..=4 => Port::Given,
        0 => Port::Empty,
        // Of numbers as long as the highest, the greater is so by its bytes.
        5 if digits <= HIGHEST_PORT => Port::Given,
        _ => return None,
    };
    Some((length, port))
}

/// Also an IPv4 address is a registered name by its syntax.
#[inline(always)]
fn host_length(bytes: &[u8]) -> Option<usize> {
    match REG_NAME.find_other(bytes, 0) {
        Some((length, byte)) if length > 0 && byte != b'%' => Some(length),
        Some((length, b'%')) => encoded_name_length(bytes, length),
        Some((_, b'[')) => ip_literal_length(bytes),
        Some(_) => None,
        None => (!bytes.is_empty()).then_some(bytes.len()),
    }
}

/// Of a registered name whose first percent-encoded byte is at `length`.
#[cold]
fn encoded_name_length(bytes: &[u8], mut length: usize) -> Option<usize> {
    while let [b'%', high, low, rest @ ..] = &bytes[length..] {
        if !high.is_ascii_hexdigit() || !low.is_ascii_hexdigit() {
            return None;
        }
        length += 3 + REG_NAME.run_length(rest);
    }
    (length > 0).then_some(length)
}

#[cold]
fn ip_literal_length(authority: &[u8]) -> Option<usize> {
    let end = authority.iter().position(|&byte| byte == b']')?;
    let address = std::str::from_utf8(&authority[1..end]).ok()?;
    address.parse::<Ipv6Addr>().ok()?;
    Some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports_that_are_well_formed() {
        for (authority, port) in [
            ("example.com", Port::Absent),
            ("example.com:", Port::Empty),
            ("example.com:80", Port::Given),
            ("example.com:00080", Port::Given),
            ("127.0.0.1:65535", Port::Given),
            ("[::1]", Port::Absent),
            ("[::ffff:1.2.3.4]:8080", Port::Given),
            ("127.0.0.1:65529", Port::Given),
            ("a_b-c~d!$&'()*+,;=", Port::Absent),
            ("%41", Port::Absent),
            ("a%4f%4Fb%00c:1", Port::Given),
            ("caf%C3%A9:0", Port::Given),
            ("xn--caf-dma.example", Port::Absent),
        ] {
            assert_eq!(check(authority.as_bytes()), Some(port), "{authority}");
        }
    }

    #[test]
    fn hosts_and_ports_that_are_not() {
        for authority in [
            "",
            ":80",
            "a:65536",
            "a:70000",
            "a:99999",
            "a:000080",
            "a:8o",
            "a:80:80",
            "a:-1",
            "a:+1",
            "a b",
            "a/b",
            "a?b",
            "a#b",
            "u@a",
            "u:p@a",
            "a%",
            "a%4",
            "a%zz",
            "a%4z",
            "a%z4",
            "%41%4",
            "a%41%",
            "a%41b%zzc",
            "a\"",
            "a\\b",
            "a<b",
            "[",
            "[]",
            "[::1",
            "::1",
            "[::1]a",
            "[::1]:x",
            "[1.2.3.4]",
            "[fe80::1%25eth0]",
            "[v1.a]",
            "[::1]]",
            "a[",
            "caf\u{e9}",
        ] {
            assert_eq!(check(authority.as_bytes()), None, "{authority}");
        }
    }
}
