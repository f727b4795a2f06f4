//! `host[:port]`, in Host and in targets.

use std::net::Ipv6Addr;

use crate::byte::REG_NAME;

/// The port of an authority.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    Absent,
    /// A colon without digits, which RFC 3986 section 3.2.3 allows.
    Empty,
    Number(u16),
}

/// Checks `uri-host [ ":" port ]` (RFC 9110 section 7.2) with a host that isn't empty. `None`: it's malformed.
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
        [b':', digits @ ..] => port_number(digits).map(Port::Number),
        _ => None,
    }
}

/// Also an IPv4 address is a registered name by its syntax.
#[inline]
fn reg_name_length(authority: &[u8]) -> Option<usize> {
    let mut end = REG_NAME.end_of_run(authority, 0);
    while authority.get(end) == Some(&b'%') {
        let digits = authority.get(end + 1..end + 3)?;
        if !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        end = REG_NAME.end_of_run(authority, end + 3);
    }
    (end > 0).then_some(end)
}

fn ip_literal_length(authority: &[u8]) -> Option<usize> {
    let end = authority.iter().position(|&byte| byte == b']')?;
    let address = std::str::from_utf8(&authority[1..end]).ok()?;
    address.parse::<Ipv6Addr>().ok()?;
    Some(end + 1)
}

#[inline]
fn port_number(digits: &[u8]) -> Option<u16> {
    if digits.len() > 5 {
        return None;
    }
    let mut number = 0u32;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        number = number * 10 + u32::from(digit - b'0');
    }
    u16::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports_that_are_well_formed() {
        for (authority, port) in [
            ("example.com", Port::Absent),
            ("example.com:", Port::Empty),
            ("example.com:80", Port::Number(80)),
            ("example.com:00080", Port::Number(80)),
            ("127.0.0.1:65535", Port::Number(65535)),
            ("[::1]", Port::Absent),
            ("[::ffff:1.2.3.4]:8080", Port::Number(8080)),
            ("a_b-c~d!$&'()*+,;=", Port::Absent),
            ("caf%C3%A9:0", Port::Number(0)),
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
