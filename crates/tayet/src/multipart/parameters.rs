//! The parameters of header fields: `; name=token; name="quoted"`.

use std::borrow::Cow;

/// The parameters in a text that is empty or begins with a semicolon; `None` for what is malformed, and nothing behind it.
pub(super) struct Parameters<'t> {
    rest: &'t str,
}

impl<'t> Parameters<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { rest: text.trim_matches(WHITESPACE) }
    }

    fn parse(&mut self) -> Option<(&'t str, Cow<'t, str>)> {
        let parameter = self.rest.strip_prefix(';')?.trim_start_matches(WHITESPACE);
        let (name, value) = parameter.split_once('=')?;
        if !is_token(name) {
            return None;
        }
        let (value, rest) = match value.strip_prefix('"') {
            Some(quoted) => unquote(quoted)?,
            None => {
                let end = value.find(|c| c == ';' || WHITESPACE.contains(&c)).unwrap_or(value.len());
                let (token, rest) = value.split_at(end);
                is_token(token).then_some((Cow::Borrowed(token), rest))?
            }
        };
        self.rest = rest.trim_start_matches(WHITESPACE);
        Some((name, value))
    }
}

impl<'t> Iterator for Parameters<'t> {
    type Item = Option<(&'t str, Cow<'t, str>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let parameter = self.parse();
        if parameter.is_none() {
            self.rest = "";
        }
        Some(parameter)
    }
}

const WHITESPACE: [char; 2] = [' ', '\t'];

/// What stands before the closing quote, and what behind it.
///
/// Backslashes escape quotes and themselves only: browsers used to send whole paths of Windows.
fn unquote(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let bytes = text.as_bytes();
    let mut unescaped = String::new();
    let mut start = 0;
    let mut at = 0;
    loop {
        match bytes.get(at)? {
            b'"' if unescaped.is_empty() => return Some((Cow::Borrowed(&text[start..at]), &text[at + 1..])),
            b'"' => {
                unescaped.push_str(&text[start..at]);
                return Some((Cow::Owned(unescaped), &text[at + 1..]));
            }
            b'\\' if matches!(bytes.get(at + 1), Some(b'"' | b'\\')) => {
                unescaped.push_str(&text[start..at]);
                unescaped.push(char::from(bytes[at + 1]));
                at += 2;
                start = at;
            }
            _ => at += 1,
        }
    }
}

/// `token` of RFC 9110 section 5.6.2.
fn is_token(text: &str) -> bool {
    let is_token_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_token_byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<Vec<(String, String)>> {
        let pair = |(name, value): (&str, Cow<'_, str>)| (name.to_owned(), value.into_owned());
        Parameters::new(text).map(|parameter| parameter.map(pair)).collect()
    }

    #[test]
    fn tokens_and_quoted_strings() {
        for (text, values) in [
            ("", &[][..]),
            ("; a=1", &["1"]),
            (";a=1 ;\tb=\"2;3\"; c=\"\"", &["1", "2;3", ""]),
            (r#"; a="x \"y\" \\z"; b=1"#, &[r#"x "y" \z"#, "1"]),
            (r#"; a="C:\dir\name.txt""#, &[r"C:\dir\name.txt"]),
            ("; a=\"Grüße\"", &["Grüße"]),
        ] {
            let parsed: Vec<_> = parsed(text).unwrap().into_iter().map(|(_, value)| value).collect();
            assert_eq!(parsed, values, "{text}");
        }
    }

    #[test]
    fn malformed_ones_are_none() {
        for text in [
            ";",
            "a=1",
            "; a",
            "; a=",
            "; =1",
            "; a=1;",
            "; a=\"1",
            r#"; a="1\""#,
            "; a=1 2",
            "; a=\"1\"2",
            "; a=ü",
            "; a b=1",
        ] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }
}
