//! One line of an access log.

use std::fmt::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{Method, StatusCode, Version};
use serde::Serialize;
use tayet_engine::PeerAddress;

use super::AccessLogFormat;
use crate::{MatchedRoute, RequestId};

/// What a line says.
pub(super) struct Entry {
    pub(super) time: SystemTime,
    pub(super) duration: Duration,
    pub(super) remote: PeerAddress,
    pub(super) method: Method,
    pub(super) target: String,
    pub(super) version: Version,
    pub(super) status: StatusCode,
    /// `None` where a writer makes the body.
    pub(super) body_bytes: Option<u64>,
    pub(super) route: MatchedRoute,
    pub(super) referer: Option<String>,
    pub(super) user_agent: Option<String>,
    pub(super) request_id: Option<RequestId>,
}

/// The entry as an object.
#[derive(Serialize)]
struct Line<'a> {
    time: &'a str,
    remote: &'a str,
    method: &'a str,
    target: &'a str,
    version: &'a str,
    status: u16,
    bytes: Option<u64>,
    duration_us: u128,
    route: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    referer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_agent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
}

impl Entry {
    /// Appends its line.
    pub(super) fn write(&self, format: AccessLogFormat, clock: &mut Clock, out: &mut String) {
        let time = clock.text(self.time, format);
        match format {
            AccessLogFormat::Common => self.write_common(time, out),
            AccessLogFormat::Combined => {
                self.write_common(time, out);
                for field in [&self.referer, &self.user_agent] {
                    out.push_str(" \"");
                    push_escaped(out, field.as_deref().unwrap_or("-"));
                    out.push('"');
                }
            }
            AccessLogFormat::Json => self.write_json(time, out),
        }
        out.push('\n');
    }

    fn write_common(&self, time: &str, out: &mut String) {
        let _ = write!(out, "{} - - [{time}] \"{} ", self.remote_text(), self.method);
        push_escaped(out, &self.target);
        let _ = write!(out, " {:?}\" {} ", self.version, self.status.as_u16());
        match self.body_bytes.filter(|&bytes| bytes > 0) {
            Some(bytes) => drop(write!(out, "{bytes}")),
            None => out.push('-'),
        }
    }

    fn write_json(&self, time: &str, out: &mut String) {
        let line = Line {
            time,
            remote: &self.remote_text(),
            method: self.method.as_str(),
            target: &self.target,
            version: &format!("{:?}", self.version),
            status: self.status.as_u16(),
            bytes: self.body_bytes,
            duration_us: self.duration.as_micros(),
            route: self.route.label(),
            referer: self.referer.as_deref(),
            user_agent: self.user_agent.as_deref(),
            request_id: self.request_id.as_ref().map(RequestId::as_str),
        };
        out.push_str(&serde_json::to_string(&line).expect("texts and numbers are JSON"));
    }

    fn remote_text(&self) -> String {
        match self.remote {
            PeerAddress::Ip(address) => address.ip().to_canonical().to_string(),
            PeerAddress::Unix => "unix:".to_owned(),
        }
    }
}

/// Within quotes: quotes, backslashes and what is not visible ASCII do not end a field or a line.
fn push_escaped(out: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => drop(write!(out, "\\x{byte:02x}")),
        }
    }
}

/// Times as text, made once a second.
#[derive(Default)]
pub(super) struct Clock {
    second: Option<u64>,
    text: String,
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

impl Clock {
    fn text(&mut self, time: SystemTime, format: AccessLogFormat) -> &str {
        let second = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        if self.second != Some(second) {
            self.second = Some(second);
            self.text = text_of(time, format);
        }
        &self.text
    }
}

/// From the date of HTTP, whose every part has its place: `Sun, 06 Nov 1994 08:49:37 GMT`.
fn text_of(time: SystemTime, format: AccessLogFormat) -> String {
    let date = httpdate::fmt_http_date(time);
    let (day, month, year, clock) = (&date[5..7], &date[8..11], &date[12..16], &date[17..25]);
    match format {
        AccessLogFormat::Common | AccessLogFormat::Combined => format!("{day}/{month}/{year}:{clock} +0000"),
        AccessLogFormat::Json => {
            let number = MONTHS.iter().position(|name| *name == month).map_or(0, |index| index + 1);
            format!("{year}-{number:02}-{day}T{clock}Z")
        }
    }
}

#[cfg(test)]
impl Entry {
    pub(super) fn example() -> Self {
        Self {
            time: UNIX_EPOCH + Duration::from_secs(784_111_777),
            duration: Duration::from_micros(1500),
            remote: PeerAddress::Ip("192.0.2.1:4711".parse().unwrap()),
            method: Method::GET,
            target: "/a\"b".to_owned(),
            version: Version::HTTP_11,
            status: StatusCode::OK,
            body_bytes: Some(13),
            route: MatchedRoute::new("GET /{x}".to_owned(), None, std::iter::empty()),
            referer: None,
            user_agent: Some("curl\n\"8\"".to_owned()),
            request_id: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(format: AccessLogFormat) -> String {
        let mut out = String::new();
        Entry::example().write(format, &mut Clock::default(), &mut out);
        out
    }

    #[test]
    fn common_and_combined_lines_have_their_fields() {
        let common = r#"192.0.2.1 - - [06/Nov/1994:08:49:37 +0000] "GET /a\"b HTTP/1.1" 200 13"#;
        assert_eq!(line(AccessLogFormat::Common), format!("{common}\n"));
        assert_eq!(line(AccessLogFormat::Combined), format!("{common} \"-\" \"curl\\x0a\\\"8\\\"\"\n"));
    }

    #[test]
    fn what_is_not_known_is_a_dash() {
        let mut out = String::new();
        let entry = Entry { body_bytes: None, ..Entry::example() };
        entry.write(AccessLogFormat::Common, &mut Clock::default(), &mut out);
        assert!(out.ends_with("HTTP/1.1\" 200 -\n"), "{out}");
    }

    #[test]
    fn a_json_line_is_one_object() {
        let line = line(AccessLogFormat::Json);
        assert_eq!(line.matches('\n').count(), 1);
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        let expected = serde_json::json!({
            "time": "1994-11-06T08:49:37Z", "remote": "192.0.2.1", "method": "GET", "target": "/a\"b",
            "version": "HTTP/1.1", "status": 200, "bytes": 13, "duration_us": 1500, "route": "GET /{x}",
            "user_agent": "curl\n\"8\"",
        });
        assert_eq!(value, expected);
    }
}
