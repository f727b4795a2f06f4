//! The Sec-WebSocket-Extensions field (RFC 6455 section 9.1).

use std::borrow::Cow;

/// An extension that is offered or agreed to, with its parameters in order.
#[derive(Debug)]
pub(crate) struct Extension<'a> {
    pub(crate) name: &'a str,
    pub(crate) parameters: Vec<(&'a str, Option<Cow<'a, str>>)>,
}

/// Appends the extensions that a field's value lists. `None`: the value is malformed.
pub(crate) fn parse_extensions<'a>(value: &'a [u8], extensions: &mut Vec<Extension<'a>>) -> Option<()> {
    let mut rest = value;
    loop {
        skip_whitespace(&mut rest);
        // RFC 9110 section 5.6.1 has empty elements ignored.
        if !matches!(rest.first(), None | Some(b',')) {
            extensions.push(parse_extension(&mut rest)?);
        }
        match rest.split_first() {
            None => return Some(()),
            Some((b',', behind)) => rest = behind,
            Some(_) => return None,
        }
    }
}

/// Whether `byte` is a `tchar` (RFC 9110 section 5.6.2).
pub(crate) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn parse_extension<'a>(rest: &mut &'a [u8]) -> Option<Extension<'a>> {
    let mut extension = Extension { name: take_token(rest)?, parameters: Vec::new() };
    loop {
        skip_whitespace(rest);
        let Some(behind) = rest.strip_prefix(b";") else { return Some(extension) };
        *rest = behind;
        skip_whitespace(rest);
        let name = take_token(rest)?;
        skip_whitespace(rest);
        let value = match rest.strip_prefix(b"=") {
            None => None,
            Some(behind) => {
                *rest = behind;
                skip_whitespace(rest);
                Some(take_value(rest)?)
            }
        };
        extension.parameters.push((name, value));
    }
}

fn take_value<'a>(rest: &mut &'a [u8]) -> Option<Cow<'a, str>> {
    match rest.strip_prefix(b"\"") {
        None => take_token(rest).map(Cow::Borrowed),
        Some(behind) => {
            *rest = behind;
            take_quoted(rest).map(Cow::Owned)
        }
    }
}

fn take_token<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let length = rest.iter().position(|&byte| !is_token_byte(byte)).unwrap_or(rest.len());
    let (token, behind) = rest.split_at(length);
    *rest = behind;
    if token.is_empty() { None } else { str::from_utf8(token).ok() }
}

/// A quoted string behind its first quote; what it says must be a token.
fn take_quoted(rest: &mut &[u8]) -> Option<String> {
    let mut text = String::new();
    loop {
        let (&byte, behind) = rest.split_first()?;
        *rest = behind;
        let byte = match byte {
            b'"' => return (!text.is_empty()).then_some(text),
            b'\\' => {
                let (&escaped, behind) = rest.split_first()?;
                *rest = behind;
                escaped
            }
            byte => byte,
        };
        if !is_token_byte(byte) {
            return None;
        }
        text.push(char::from(byte));
    }
}

fn skip_whitespace(rest: &mut &[u8]) {
    while let [b' ' | b'\t', behind @ ..] = *rest {
        *rest = behind;
    }
}
