//! The opening handshake (RFC 6455, section 4.1).

use std::net::SocketAddrV4;

use anyhow::{Context, ensure};

/// The example of the RFC, so that nobody has to compute what it is answered with.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
/// As browsers offer it.
const OFFER: &str = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n";
/// What the message needs that is exchanged.
const MIN_WINDOW_BITS: u32 = 11;
const MAX_RESPONSE_BYTES: usize = 4096;

pub fn request(address: SocketAddrV4, path: &str, deflate: bool) -> Vec<u8> {
    let offer = if deflate { OFFER } else { "" };
    format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Version: 13\r\n{offer}\r\n"
    )
    .into_bytes()
}

/// How many bytes the response takes, once it is there and accepts what was asked for.
pub fn check_response(received: &[u8], deflate: bool) -> anyhow::Result<Option<usize>> {
    let Some(end) = received.windows(4).position(|window| window == b"\r\n\r\n") else {
        ensure!(received.len() <= MAX_RESPONSE_BYTES, "the response to the handshake does not end");
        return Ok(None);
    };
    let head = std::str::from_utf8(&received[..end]).context("the response is not text")?;
    ensure!(head.starts_with("HTTP/1.1 101 "), "the response is {:?}", head.lines().next());
    let field = |name| field_of(head, name).with_context(|| format!("the response has no {name}"));
    ensure!(field("Upgrade")?.eq_ignore_ascii_case("websocket"), "the upgrade is to something else");
    ensure!(field("Connection")?.to_ascii_lowercase().contains("upgrade"), "nothing is upgraded");
    ensure!(field("Sec-WebSocket-Accept")? == ACCEPT, "the key is not accepted");
    match field_of(head, "Sec-WebSocket-Extensions") {
        Some(extensions) => check_extensions(extensions, deflate)?,
        None => ensure!(!deflate, "it does not accept permessage-deflate"),
    }
    Ok(Some(end + 4))
}

fn check_extensions(extensions: &str, deflate: bool) -> anyhow::Result<()> {
    let mut words = extensions.split(';').map(str::trim);
    ensure!(deflate && words.next() == Some("permessage-deflate"), "{extensions} was not offered");
    for bits in words.filter_map(|word| word.strip_prefix("client_max_window_bits=")) {
        let bits: u32 = bits.trim_matches('"').parse().context("the window bits are no number")?;
        ensure!(bits >= MIN_WINDOW_BITS, "a window of {bits} bits is too small for the message");
    }
    Ok(())
}

fn field_of<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().skip(1).find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(more: &str) -> String {
        format!(
            "HTTP/1.1 101 Switching Protocols\r\nupgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n\
             Sec-WebSocket-Accept: {ACCEPT}\r\n{more}\r\n"
        )
    }

    #[test]
    fn a_response_is_complete_with_its_last_byte() {
        let response = response("");
        for end in 0..response.len() {
            assert_eq!(check_response(&response.as_bytes()[..end], false).unwrap(), None);
        }
        assert_eq!(check_response(response.as_bytes(), false).unwrap(), Some(response.len()));
    }

    #[test]
    fn only_what_was_offered_may_be_accepted_and_what_was_must_be() {
        let accepted =
            response("Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits=15\r\n");
        check_response(accepted.as_bytes(), true).unwrap();
        assert!(check_response(accepted.as_bytes(), false).is_err());
        assert!(check_response(response("").as_bytes(), true).is_err());
        assert!(check_response(accepted.replace("=15", "=9").as_bytes(), true).is_err());
    }

    #[test]
    fn other_responses_are_refused() {
        for (from, to) in [("101", "404"), ("WebSocket", "h2c"), ("s3p", "S3p"), (", Upgrade", "")] {
            assert!(check_response(response("").replacen(from, to, 1).as_bytes(), false).is_err(), "{to}");
        }
    }
}
