//! `host[:port]`, in Host and in targets.

use std::net::Ipv6Addr;

use crate::byte::REG_NAME;

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
#[inline]
pub(crate) fn check(authority: &[u8]) -> Option<Port> {
    let host_length = match authority.first()? {
        b'[' => ip_literal_length(authority)?,
        _ => reg_name_length(authority)?,
    };
    match &authority[host_length..] {
        [] => Some(Port::Absent),
        [b':'] => Some(Port::Empty),
        [b':', digits @ ..] => is_port(digits).then_some(Port::Given),
        _ => None,
    }
}

/// Also an IPv4 address is a registered name by its syntax.
#[inline]
fn reg_name_length(authority: &[u8]) -> Option<usize> {
    let mut length = REG_NAME.run_length(authority);
    while let [b'%', high, low, rest @ ..] = &authority[length..] {
        if !high.is_ascii_hexdigit() || !low.is_ascii_hexdigit() {
            return None;
        }
        length += 3 + REG_NAME.run_length(rest);
    }
    (length > 0).then_some(length)
}

fn ip_literal_length(authority: &[u8]) -> Option<usize> {
    let end = authority.iter().position(|&byte| byte == b']')?;
    let address = std::str::from_utf8(&authority[1..end]).ok()?;
    address.parse::<Ipv6Addr>().ok()?;
    Some(end + 1)
}

/// At most five digits; of numbers as long as the highest, the greater is so by its bytes.
#[inline]
fn is_port(digits: &[u8]) -> bool {
    let is_in_range =
        digits.len() < HIGHEST_PORT.len() || digits.len() == HIGHEST_PORT.len() && digits <= HIGHEST_PORT;
    is_in_range && digits.iter().all(u8::is_ascii_digit)
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
