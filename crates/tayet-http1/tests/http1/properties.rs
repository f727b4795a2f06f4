//! What holds for any message and any cut.

use http::{HeaderMap, HeaderName, HeaderValue};
use proptest::collection::vec;
use proptest::prelude::*;
use tayet_http1::{BodyEvent, Connection, Head, HeadLimits, encode_chunk, encode_last_chunk};

use crate::support::outcome;

const TOKEN: &str = "[a-zA-Z0-9!#$%&'*+.^_`|~-]{1,20}";

/// A request as text in parts, and the bytes that it makes.
#[derive(Clone, Debug)]
struct Message {
    method: String,
    path: String,
    query: Option<String>,
    fields: Vec<(String, Vec<u8>)>,
    body: Body,
}

#[derive(Clone, Debug)]
enum Body {
    None,
    Fixed(Vec<u8>),
    Chunked { chunks: Vec<Vec<u8>>, trailers: Vec<(String, String)> },
}

impl Message {
    fn bytes(&self) -> Vec<u8> {
        let query = self.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        let mut bytes = format!("{} {}{query} HTTP/1.1\r\nHost: a\r\n", self.method, self.path).into_bytes();
        for (name, value) in &self.fields {
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value);
            bytes.extend_from_slice(b"\r\n");
        }
        match &self.body {
            Body::None => bytes.extend_from_slice(b"\r\n"),
            Body::Fixed(data) => {
                bytes.extend_from_slice(format!("Content-Length: {}\r\n\r\n", data.len()).as_bytes());
                bytes.extend_from_slice(data);
            }
            Body::Chunked { chunks, trailers } => {
                bytes.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
                chunks.iter().for_each(|chunk| encode_chunk(&mut bytes, chunk));
                encode_last_chunk(&mut bytes, trailer_map(trailers).as_ref());
            }
        }
        bytes
    }

    fn data(&self) -> Vec<u8> {
        match &self.body {
            Body::None => Vec::new(),
            Body::Fixed(data) => data.clone(),
            Body::Chunked { chunks, .. } => chunks.concat(),
        }
    }

    fn trailers(&self) -> Option<HeaderMap> {
        match &self.body {
            Body::Chunked { trailers, .. } => trailer_map(trailers),
            _ => None,
        }
    }
}

fn trailer_map(trailers: &[(String, String)]) -> Option<HeaderMap> {
    let field = |(name, value): &(String, String)| {
        (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap())
    };
    (!trailers.is_empty()).then(|| trailers.iter().map(field).collect())
}

/// Names that no rule is about.
fn plain_name() -> impl Strategy<Value = String> {
    TOKEN.prop_map(|token| format!("x-{token}"))
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    let byte =
        any::<u8>().prop_filter("no control bytes", |&byte| byte == b'\t' || byte >= b' ' && byte != 0x7f);
    vec(byte, 0..40).prop_map(|value| {
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
        let start = value.iter().position(|byte| !is_space(byte)).unwrap_or(value.len());
        let end = value.iter().rposition(|byte| !is_space(byte)).map_or(start, |last| last + 1);
        value[start..end].to_vec()
    })
}

fn body() -> impl Strategy<Value = Body> {
    prop_oneof![
        Just(Body::None),
        vec(any::<u8>(), 1..100).prop_map(Body::Fixed),
        (vec(vec(any::<u8>(), 0..50), 0..5), vec((plain_name(), "([!-~]([ -~]{0,10}[!-~])?)?"), 0..4))
            .prop_map(|(chunks, trailers)| Body::Chunked { chunks, trailers }),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let method = TOKEN.prop_filter("CONNECT has targets of its own", |method| method != "CONNECT");
    let query = prop::option::of("[!-\"$-~]{0,30}");
    (method, "/[!-\"$->@-~]{0,30}", query, vec((plain_name(), value()), 0..10), body())
        .prop_map(|(method, path, query, fields, body)| Message { method, path, query, fields, body })
}

/// The pieces of `bytes` between the cuts.
fn cut<'a>(bytes: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

/// Feeds the pieces of one message to a connection, and compares what comes with the message.
fn receive_and_compare(
    connection: &mut Connection,
    head: &mut Head,
    message: &Message,
    pieces: &[&[u8]],
) -> Result<(), TestCaseError> {
    let (mut has_head, mut data, mut trailers, mut ends) = (false, Vec::new(), None, 0);
    for piece in pieces {
        let mut input = *piece;
        if !has_head {
            has_head = connection.receive_head(&mut input, head, &HeadLimits::default())?;
        }
        while connection.is_receiving_body() {
            match connection.receive_body(&mut input)? {
                None => break,
                Some(BodyEvent::Data(more)) => data.extend_from_slice(more),
                Some(BodyEvent::End { trailers: received }) => {
                    ends += 1;
                    trailers = received.map(|trailers| *trailers);
                }
            }
        }
        prop_assert!(input.is_empty());
    }
    prop_assert!(has_head && !connection.is_receiving_body());
    prop_assert_eq!(head.method().as_str(), &message.method);
    prop_assert_eq!(head.path(), &message.path);
    prop_assert_eq!(head.query(), message.query.as_deref());
    let fields: Vec<(String, Vec<u8>)> =
        head.fields().map(|(name, value)| (name.to_owned(), value.to_vec())).collect();
    prop_assert_eq!(&fields[0], &("Host".to_owned(), b"a".to_vec()));
    prop_assert_eq!(&fields[1..=message.fields.len()], &message.fields[..]);
    prop_assert_eq!(fields.len(), head.header_map().len());
    prop_assert_eq!(data, message.data());
    prop_assert_eq!(trailers, message.trailers());
    prop_assert_eq!(ends, usize::from(!matches!(message.body, Body::None)));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_however_it_is_cut(
        messages in vec(message(), 1..4),
        cuts in vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let (mut connection, mut head) = (Connection::new(), Head::default());
        for message in &messages {
            receive_and_compare(&mut connection, &mut head, message, &cut(&message.bytes(), &cuts))?;
        }
    }

    /// Messages with a few bytes wrong: mostly refused, and always in the same way.
    #[test]
    fn a_damaged_message_has_the_same_outcome_however_it_is_cut(
        messages in vec(message(), 1..3),
        damages in vec((any::<prop::sample::Index>(), 0..3u8, any::<u8>()), 0..4),
        cuts in vec(any::<prop::sample::Index>(), 1..12),
    ) {
        let mut bytes: Vec<u8> = messages.iter().flat_map(Message::bytes).collect();
        for (place, kind, byte) in damages {
            let place = place.index(bytes.len());
            match kind {
                0 => bytes[place] = byte,
                1 => bytes.insert(place, byte),
                _ => drop(bytes.remove(place)),
            }
        }
        let limits = HeadLimits { max_head_bytes: 400, max_request_line_bytes: 60, max_headers: 8 };
        let whole = outcome([&bytes[..]], &limits);
        prop_assert_eq!(outcome(cut(&bytes, &cuts), &limits), whole.clone());
        prop_assert_eq!(outcome(bytes.chunks(1), &limits), whole);
    }

    #[test]
    fn any_bytes_have_the_same_outcome_however_they_are_cut(
        bytes in vec(prop_oneof![any::<u8>(), prop::sample::select(&b"\r\n :GET/HTP1.;0=\""[..])], 0..60),
        cuts in vec(any::<prop::sample::Index>(), 1..6),
    ) {
        let limits = HeadLimits { max_head_bytes: 50, max_request_line_bytes: 30, max_headers: 2 };
        prop_assert_eq!(outcome(cut(&bytes, &cuts), &limits), outcome([&bytes[..]], &limits));
    }
}
