//! A head that is accepted means the same to another parser, and still the same when it is written again from
//! what was understood. What comes behind it means the same to a head that was used before as to a new one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tayet_fuzz::Http1Bytes;
use tayet_http1::{Connection, Head, HeadLimits};

const MAX_HEADERS: usize = 100;

fuzz_target!(|bytes: Http1Bytes| {
    let bytes = skip_empty_lines(&bytes.0);
    let mut input = bytes;
    let Some(mut head) = receive(&mut input) else { return };
    let length = bytes.len() - input.len();
    compare_with_another_parser(&head, &bytes[..length]);

    let again = write(&head);
    let mut rest = &again[..];
    let head_again = receive(&mut rest).expect("what was understood is accepted again");
    assert!(rest.is_empty());
    assert_eq!(meaning(&head_again), meaning(&head));

    for behind in [input, &bytes[..length]] {
        let new = receive(&mut &behind[..]).map(|head| meaning(&head));
        let used = receive_in(&mut head, &mut &behind[..]).then(|| meaning(&head));
        assert_eq!(used, new);
    }
});

/// So that the head begins where the bytes begin.
fn skip_empty_lines(mut bytes: &[u8]) -> &[u8] {
    while let Some(rest) = bytes.strip_prefix(b"\r\n") {
        bytes = rest;
    }
    bytes
}

fn receive(input: &mut &[u8]) -> Option<Head> {
    let mut head = Head::default();
    receive_in(&mut head, input).then_some(head)
}

fn receive_in(head: &mut Head, input: &mut &[u8]) -> bool {
    let limits = HeadLimits { max_headers: MAX_HEADERS, ..HeadLimits::default() };
    matches!(Connection::new().receive_head(input, head, &limits), Ok(true))
}

fn compare_with_another_parser(head: &Head, bytes: &[u8]) {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let parsed = request.parse(bytes).expect("what is accepted here is accepted there");
    assert_eq!(parsed, httparse::Status::Complete(bytes.len()));
    assert_eq!(request.method, Some(head.method().as_str()));
    assert_eq!(request.path, Some(head.target()));
    assert_eq!(request.headers.len(), head.fields().len());
    for (theirs, (name, value)) in request.headers.iter().zip(head.fields()) {
        assert_eq!(theirs.name, name);
        assert_eq!(theirs.value.trim_ascii(), value.trim_ascii());
    }
}

fn write(head: &Head) -> Vec<u8> {
    let mut bytes = format!("{} {} {:?}\r\n", head.method(), head.target(), head.version()).into_bytes();
    for (name, value) in head.fields() {
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(b":");
        bytes.extend_from_slice(value);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
    bytes
}

/// All that a head says, as text.
fn meaning(head: &Head) -> String {
    format!(
        "{head:?} {} {:?} {:?} {:?} {} {} {} {:?}",
        head.path(),
        head.query(),
        head.authority(),
        head.body_length(),
        head.is_persistent(),
        head.expects_continue(),
        head.has_connection_option("upgrade"),
        head.header_map(),
    )
}
