//! What proxies say of the requests that they pass on.

use std::net::{IpAddr, SocketAddr};

/// One proxy's word on a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hop {
    /// Who asked the proxy; `None` where it does not say.
    pub(crate) client: Option<SocketAddr>,
    pub(crate) host: Option<String>,
    pub(crate) scheme: Option<String>,
}

/// Reads the values of `Forwarded` (RFC 7239), joined by commas. `None` where they are malformed.
pub(crate) fn parse_forwarded(text: &str) -> Option<Vec<Hop>> {
    let mut hops = vec![Hop::default()];
    let mut rest = text.trim();
    while !rest.is_empty() {
        match rest.as_bytes()[0] {
            b',' => hops.push(Hop::default()),
            b';' => {}
            _ => {
                let (name, behind) = rest.split_once('=')?;
                let (value, behind) = parse_value(behind)?;
                hops.last_mut()?.set(name, value)?;
                rest = behind.trim_start();
                if !(rest.is_empty() || rest.starts_with([',', ';'])) {
                    return None;
                }
                continue;
            }
        }
        rest = rest[1..].trim_start();
    }
    Some(hops)
}

/// Reads an element of `X-Forwarded-For`, or a node of `Forwarded`: an address, perhaps with a port.
pub(crate) fn parse_node(text: &str) -> Option<SocketAddr> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Some(address);
    }
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    Some(SocketAddr::new(bare.parse::<IpAddr>().ok()?, 0))
}

impl Hop {
    /// `None` for a name that is no token.
    fn set(&mut self, name: &str, value: String) -> Option<()> {
        if !is_token(name) {
            return None;
        }
        match name.to_ascii_lowercase().as_str() {
            "for" => self.client = parse_node(&value),
            "host" => self.host = Some(value),
            "proto" => self.scheme = Some(value),
            _ => {}
        }
        Some(())
    }
}

/// Takes a token or a quoted string off.
fn parse_value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ';', ' ', '\t']).unwrap_or(text.len());
        let (token, rest) = text.split_at(end);
        return is_token(token).then(|| (token.to_owned(), rest));
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &quoted[at + 1..])),
            '\\' => value.push(chars.next()?.1),
            c => value.push(c),
        }
    }
    None
}

fn is_token(text: &str) -> bool {
    let is_tchar = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_tchar)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_addresses_with_or_without_a_port() {
        for (text, node) in [
            ("192.0.2.1", Some("192.0.2.1:0")),
            ("192.0.2.1:80", Some("192.0.2.1:80")),
            ("2001:db8::1", Some("[2001:db8::1]:0")),
            ("[2001:db8::1]", Some("[2001:db8::1]:0")),
            ("[2001:db8::1]:80", Some("[2001:db8::1]:80")),
            ("unknown", None),
            ("_hidden", None),
            ("192.0.2.1:99999", None),
            ("", None),
        ] {
            assert_eq!(parse_node(text), node.map(|node| node.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn every_proxy_adds_a_hop() {
        let text = r#"for=192.0.2.43;proto=https;host="a.example:8443", For="[2001:db8::1]:4711" , for=unknown;by=_x"#;
        let hops = parse_forwarded(text).unwrap();
        assert_eq!(hops.len(), 3);
        assert_eq!(hops[0].client, parse_node("192.0.2.43"));
        assert_eq!(hops[0].scheme.as_deref(), Some("https"));
        assert_eq!(hops[0].host.as_deref(), Some("a.example:8443"));
        assert_eq!(hops[1].client, parse_node("[2001:db8::1]:4711"));
        assert_eq!(hops[2], Hop::default());
    }

    #[test]
    fn what_is_malformed_is_nothing() {
        for text in [
            "for",
            "for=",
            "for=\"192.0.2.1",
            "=1",
            "for=1 2",
            "for=a b=c",
            "fo r=x",
            "for=\"a\"b",
            "for=[::1]",
        ] {
            assert_eq!(parse_forwarded(text), None, "{text}");
        }
    }
}
