//! Reads one request and writes its answer, again and again, for counting instructions:
//!
//!     cargo build --release -p tayet-http1 --example http1_instructions
//!     for n in 1000 2000; do
//!         valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/http1_instructions hello $n
//!     done
//!
//! The difference of the two, divided by 1000, is what one request costs.

use std::hint::black_box;
use std::time::UNIX_EPOCH;

use http::{HeaderValue, StatusCode};
use tayet_http1::{Connection, Date, Head, HeadLimits, ResponseHead, ResponseLength};

const HELLO: &[u8] = b"GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";

const BROWSER: &[u8] = b"GET /articles/2026/11/weaving?page=2&sort=newest HTTP/1.1\r\n\
    Host: www.example.com\r\n\
    User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0\r\n\
    Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
    Accept-Language: en-GB,en;q=0.8,de;q=0.5\r\n\
    Accept-Encoding: gzip, deflate, br, zstd\r\n\
    Referer: https://www.example.com/articles/2026/11\r\n\
    Connection: keep-alive\r\n\
    Cookie: session=0123456789abcdef0123456789abcdef; theme=dark; consent=yes\r\n\
    Upgrade-Insecure-Requests: 1\r\n\
    Sec-Fetch-Dest: document\r\n\
    Sec-Fetch-Mode: navigate\r\n\
    Sec-Fetch-Site: same-origin\r\n\
    If-None-Match: \"5f3c-62d1a8b4\"\r\n\r\n";

fn main() {
    let mut arguments = std::env::args().skip(1);
    let request = match arguments.next().as_deref() {
        Some("hello") => HELLO,
        Some("browser") => BROWSER,
        _ => panic!("the first argument is hello or browser"),
    };
    let count: u32 =
        arguments.next().and_then(|count| count.parse().ok()).expect("the second argument is a count");

    let content_type = HeaderValue::from_static("text/plain; charset=utf-8");
    let date = Date::from(UNIX_EPOCH);
    let mut connection = Connection::new();
    let mut head = Head::default();
    let mut out = Vec::with_capacity(4096);
    for _ in 0..count {
        let mut input = black_box(request);
        let complete = connection.receive_head(&mut input, &mut head, &HeadLimits::default());
        assert_eq!(complete, Ok(true));
        out.clear();
        ResponseHead {
            status: StatusCode::OK,
            reason: None,
            request_version: head.version(),
            keep_alive: head.is_persistent(),
            length: ResponseLength::Fixed(black_box(13)),
            content_type: Some(&content_type),
            fields: None,
            date: &date,
        }
        .encode(&mut out);
        black_box(&out);
    }
}
