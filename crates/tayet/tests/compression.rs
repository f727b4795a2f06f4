//! What is answered compressed, and how; what is sent compressed, and read.

use std::io::{Read, Write};

use tayet::testing::{TestClient, TestResponse};
use tayet::{
    AcceptEncoding, Body, BodyStream, Bytes, Compression, ContentCoding, Decompression, Files, Handler,
    Method, Request, Response, Router, StatusCode,
};

const TEXT: &str = "text/plain; charset=utf-8";

/// A client of one handler behind the middleware.
fn client<F: Fn() -> Response + Clone + Send + Sync + 'static>(
    compression: Compression,
    answer: F,
) -> TestClient {
    TestClient::new(Router::new().get("/", answer).layer(compression))
}

fn text(length: usize) -> Response {
    Response::new("warp and weft ".repeat(length / 14 + 1)[..length].to_owned())
        .with_header("content-type", TEXT)
}

fn get(client: &TestClient, accept: &str) -> TestResponse {
    client.get("/").header("Accept-Encoding", accept).send()
}

fn decoded(coding: ContentCoding, encoded: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let read = match coding {
        ContentCoding::Gzip => flate2::read::GzDecoder::new(encoded).read_to_end(&mut bytes),
        ContentCoding::Deflate => flate2::read::ZlibDecoder::new(encoded).read_to_end(&mut bytes),
        ContentCoding::Brotli => brotli::Decompressor::new(encoded, 4096).read_to_end(&mut bytes),
        ContentCoding::Zstd => zstd::Decoder::new(encoded).unwrap().read_to_end(&mut bytes),
    };
    read.unwrap_or_else(|error| panic!("{coding}: {error}"));
    bytes
}

fn encoded(coding: ContentCoding, bytes: &[u8]) -> Vec<u8> {
    let bytes = Bytes::copy_from_slice(bytes);
    let answer = move || Response::new(bytes.clone()).with_header("content-type", TEXT);
    let client = client(Compression::new().min_bytes(0).max_inline_bytes(0), answer);
    get(&client, &format!("{coding}, identity;q=0")).bytes().to_vec()
}

/// Bytes without any pattern.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[test]
fn every_coding_gives_the_same_content_in_one_piece_and_written() {
    for coding in ContentCoding::ALL {
        for length in [1024, 65_536, 65_537, 1_000_000] {
            let response = get(&client(Compression::new(), move || text(length)), coding.name());
            assert_eq!(response.header("content-encoding"), Some(coding.name()));
            assert_eq!(response.header("vary"), Some("accept-encoding"));
            let expected = text(length);
            assert_eq!(decoded(coding, response.bytes()), expected.body().as_bytes().unwrap());
            assert!(response.bytes().len() < length / 10, "{coding} {length}: {}", response.bytes().len());
        }
    }
}

#[test]
fn levels_are_chosen_by_coding() {
    let page = || {
        let lines = (0..2000).map(|n: u64| format!("{} {}\n", n * 7919 % 1009, n * n % 977));
        Response::new(lines.collect::<String>()).with_header("content-type", TEXT)
    };
    for (coding, low, high) in [
        (ContentCoding::Gzip, 1, 9),
        (ContentCoding::Deflate, 1, 9),
        (ContentCoding::Brotli, 0, 11),
        (ContentCoding::Zstd, 1, 19),
    ] {
        let length = |level| {
            let response = get(&client(Compression::new().level(coding, level), page), coding.name());
            assert_eq!(decoded(coding, response.bytes()), page().body().as_bytes().unwrap());
            response.bytes().len()
        };
        assert!(length(high) < length(low), "{coding}");
    }
}

#[test]
#[should_panic(expected = "br has no level 12, only 0..=11")]
fn a_level_that_does_not_exist_is_a_mistake() {
    let _ = Compression::new().level(ContentCoding::Brotli, 12);
}

#[test]
fn the_server_chooses_among_what_the_client_likes_as_well() {
    let coding = |compression, accept| {
        get(&client(compression, || text(5000)), accept).header("content-encoding").map(str::to_owned)
    };
    let all = "gzip, deflate, br, zstd";
    assert_eq!(coding(Compression::new(), all).unwrap(), "zstd");
    let dense_first = Compression::new().codings([ContentCoding::Brotli, ContentCoding::Gzip]);
    assert_eq!(coding(dense_first.clone(), all).unwrap(), "br");
    assert_eq!(coding(dense_first.clone(), "br;q=0.1, gzip;q=0.2").unwrap(), "gzip");
    assert_eq!(coding(dense_first, "zstd"), None);
}

#[test]
fn a_client_that_accepts_nothing_that_there_is_gets_the_content_as_it_is() {
    let client = client(Compression::new(), || text(5000));
    for accept in ["", "identity", "compress", "*;q=0", "identity;q=0", "gzip;q=0, br;q=0, *;q=0", ";;,q=1"] {
        let response = get(&client, accept);
        assert_eq!(
            (response.status(), response.header("content-encoding")),
            (StatusCode::OK, None),
            "{accept:?}"
        );
        assert_eq!(response.header("vary"), Some("accept-encoding"), "{accept:?}");
        assert_eq!(response.bytes().len(), 5000);
    }
    assert_eq!(client.get("/").send().header("content-encoding"), None);
}

#[test]
fn small_content_is_left_alone_unless_the_client_refuses_it_so() {
    for (length, is_compressed) in [(1023, false), (1024, true)] {
        let response = get(&client(Compression::new(), move || text(length)), "gzip");
        assert_eq!(response.header("content-encoding").is_some(), is_compressed, "{length}");
        assert_eq!(response.header("vary").is_some(), is_compressed, "{length}");
    }
    let refusing = get(&client(Compression::new(), || text(1)), "gzip, identity;q=0");
    assert_eq!(refusing.header("content-encoding"), Some("gzip"));
    assert_eq!(decoded(ContentCoding::Gzip, refusing.bytes()), b"w");
    let lower = Compression::new().min_bytes(10);
    assert_eq!(
        get(&client(lower, || text(10).with_status(StatusCode::NOT_FOUND)), "br").header("vary"),
        Some("accept-encoding")
    );
}

#[test]
fn content_that_does_not_become_smaller_is_sent_as_it_is() {
    let noisy = || Response::new(noise(4000)).with_header("content-type", TEXT);
    for coding in ContentCoding::ALL {
        let response = get(&client(Compression::new(), noisy), coding.name());
        assert_eq!(response.header("content-encoding"), None, "{coding}");
        assert_eq!(response.header("vary"), Some("accept-encoding"));
        assert_eq!(response.bytes(), noise(4000));
    }
}

#[test]
fn what_must_not_be_changed_is_not() {
    type Change = fn(Response) -> Response;
    let cases: [(&str, Change); 9] = [
        ("encoded", |response| response.with_header("content-encoding", "br")),
        ("a part", |response| response.with_status(StatusCode::PARTIAL_CONTENT)),
        ("a range", |response| response.with_header("content-range", "bytes 0-4999/9999")),
        ("forbidden", |response| response.with_header("cache-control", "private, No-Transform")),
        ("digested", |response| response.with_header("repr-digest", "sha-256=:AAAA:")),
        ("no content", |response| response.with_status(StatusCode::NO_CONTENT)),
        ("a picture", |response| response.with_header("content-type", "image/png")),
        ("of no type", |response| Response::new(response.into_body())),
        ("empty", |response| response.with_body(Body::empty())),
    ];
    for (name, change) in cases {
        let response = get(&client(Compression::new(), move || change(text(5000))), "gzip");
        let expected = if name == "encoded" { Some("br") } else { None };
        assert_eq!(response.header("content-encoding"), expected, "{name}");
        assert_eq!(response.header("vary"), None, "{name}");
    }
    let chosen = Compression::new().compress_if(|response| response.status() == 201);
    let picture = || text(5000).with_header("content-type", "image/png").with_status(StatusCode::CREATED);
    assert_eq!(get(&client(chosen, picture), "gzip").header("content-encoding"), Some("gzip"));
}

#[test]
fn the_fields_say_what_the_content_is() {
    let response = get(
        &client(Compression::new(), || {
            text(5000)
                .with_header("etag", "\"1\"")
                .with_header("accept-ranges", "bytes")
                .with_header("content-length", "5000")
                .with_header("vary", "Origin, Accept-Encoding")
        }),
        "gzip",
    );
    assert_eq!(response.header("etag"), Some("W/\"1\""));
    assert_eq!(response.header("accept-ranges"), None);
    assert_eq!(response.header("content-length"), None);
    assert_eq!(response.headers().get_all("vary").iter().count(), 1);
    let weak =
        client(Compression::new(), || text(5000).with_header("etag", "W/\"2\"").with_header("vary", "*"));
    assert_eq!(get(&weak, "gzip").header("etag"), Some("W/\"2\""));
    assert_eq!(get(&weak, "gzip").header("vary"), Some("*"));
    assert_eq!(
        get(&client(Compression::new(), || text(5000).with_header("etag", "\"1\"")), "").header("etag"),
        Some("\"1\"")
    );
}

#[test]
fn a_304_keeps_the_tag_that_the_client_knows() {
    let unchanged = || Response::empty(StatusCode::NOT_MODIFIED).with_header("etag", "\"1\"");
    let client = client(Compression::new(), unchanged);
    for (known, expected) in [("W/\"1\"", "W/\"1\""), ("\"0\", W/\"1\"", "W/\"1\""), ("\"1\"", "\"1\"")] {
        let response =
            client.get("/").header("Accept-Encoding", "gzip").header("If-None-Match", known).send();
        assert_eq!(response.header("etag"), Some(expected), "{known}");
    }
}

#[test]
fn head_has_the_fields_of_get() {
    for length in [5000, 500_000] {
        let client = client(Compression::new(), move || text(length));
        let head = client.request(Method::HEAD, "/").header("Accept-Encoding", "br").send();
        let get = get(&client, "br");
        assert_eq!(head.headers(), get.headers());
        assert!(head.bytes().is_empty());
    }
}

/// Records where a written body is flushed.
#[derive(Default)]
struct Recorder {
    pieces: Vec<Vec<u8>>,
    last: Vec<u8>,
}

impl Write for Recorder {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.last.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.pieces.push(std::mem::take(&mut self.last));
        Ok(())
    }
}

/// As much as can be decoded of content whose end has not come.
fn decoded_so_far(coding: ContentCoding, encoded: &[u8]) -> String {
    let mut reader: Box<dyn Read + '_> = match coding {
        ContentCoding::Gzip => Box::new(flate2::read::GzDecoder::new(encoded)),
        ContentCoding::Deflate => Box::new(flate2::read::ZlibDecoder::new(encoded)),
        ContentCoding::Brotli => Box::new(brotli::Decompressor::new(encoded, 4096)),
        ContentCoding::Zstd => Box::new(zstd::Decoder::new(encoded).unwrap()),
    };
    let mut text = Vec::new();
    let mut byte = [0];
    while let Ok(1) = reader.read(&mut byte) {
        text.push(byte[0]);
    }
    String::from_utf8(text).unwrap()
}

#[test]
fn a_flush_sends_all_that_was_written() {
    let events = || {
        let body = Body::from_writer(|out| {
            for event in ["one", "two", "three"] {
                write!(out, "data: {event}\n\n")?;
                out.flush()?;
                out.flush()?;
            }
            out.trailers_mut().insert("x-events", 3.into());
            Ok(())
        });
        Response::new(body).with_header("content-type", "text/event-stream")
    };
    for coding in ContentCoding::ALL {
        let response = get(&client(Compression::new(), events), coding.name());
        assert_eq!(response.header("content-encoding"), Some(coding.name()));
        let mut recorder = Recorder::default();
        let trailers = response.into_inner().into_body().write_to(&mut recorder).unwrap();
        assert_eq!(trailers.unwrap()["x-events"], "3");
        let whole = [recorder.pieces.concat(), recorder.last].concat();
        assert_eq!(recorder.pieces.len(), 6);
        let mut so_far = Vec::new();
        for (index, piece) in recorder.pieces.iter().enumerate() {
            so_far.extend_from_slice(piece);
            let expected = ["data: one\n\n", "data: two\n\n", "data: three\n\n"][..=index / 2].concat();
            assert_eq!(decoded_so_far(coding, &so_far), expected, "{coding}");
            assert_eq!(piece.is_empty(), index % 2 == 1, "{coding}: flushing nothing sends nothing");
        }
        assert_eq!(decoded(coding, &whole), b"data: one\n\ndata: two\n\ndata: three\n\n");
    }
}

#[test]
fn a_writer_that_fails_leaves_no_whole_content() {
    let broken = || {
        let body = Body::from_writer(|out| {
            out.write_all(&noise(100_000))?;
            Err(std::io::Error::other("the disk broke"))
        });
        Response::new(body).with_header("content-type", TEXT)
    };
    for coding in ContentCoding::ALL {
        let response = get(&client(Compression::new(), broken), coding.name());
        let error = response.into_inner().into_body().write_to(&mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "the disk broke");
    }
}

#[test]
fn a_body_that_is_compressed_twice_is_so_once() {
    let app = Router::new().get("/", || text(5000)).layer(Compression::new()).layer(Compression::new());
    let response = TestClient::new(app).get("/").header("Accept-Encoding", "gzip").send();
    assert_eq!(decoded(ContentCoding::Gzip, response.bytes()).len(), 5000);
}

#[test]
fn a_file_keeps_its_validators_and_its_ranges() {
    let directory = tempfile::tempdir().unwrap();
    let content = "warp and weft ".repeat(20_000);
    std::fs::write(directory.path().join("a.txt"), &content).unwrap();
    let files = Files::open(directory.path()).unwrap();
    let client = TestClient::new(Router::new().nest("/", files).layer(Compression::new()));
    let get = || client.get("/a.txt").header("Accept-Encoding", "gzip");
    let whole = get().send();
    assert_eq!(decoded(ContentCoding::Gzip, whole.bytes()), content.as_bytes());
    let tag = whole.header("etag").unwrap();
    assert!(tag.starts_with("W/\""), "{tag}");
    let unchanged = get().header("If-None-Match", tag).send();
    assert_eq!((unchanged.status(), unchanged.header("etag")), (StatusCode::NOT_MODIFIED, Some(tag)));
    let part = get().header("Range", "bytes=5-7").send();
    assert_eq!((part.status(), part.bytes()), (StatusCode::PARTIAL_CONTENT, &b"and"[..]));
    assert_eq!(part.header("content-encoding"), None);
    // Ranges of other bytes than those that the client has.
    let stale = get().header("Range", "bytes=5-7").header("If-Range", tag).send();
    assert_eq!((stale.status(), stale.header("content-encoding")), (StatusCode::OK, Some("gzip")));
}

fn decompressing(decompression: Decompression) -> TestClient {
    fn describe(request: &mut Request) -> tayet::Result<String> {
        let (length, has_coding) =
            (request.content_length(), request.headers().contains_key("content-encoding"));
        Ok(format!("{} {length:?} {has_coding}", request.bytes()?.len()))
    }
    let count = |mut body: BodyStream| {
        Ok::<_, tayet::Error>(std::io::copy(&mut body, &mut std::io::sink())?.to_string())
    };
    let app = Router::new()
        .post("/whole", (|body: Bytes| body).max_body_bytes(100_000))
        .post("/count", count)
        .post("/describe", describe)
        .layer(decompression);
    TestClient::new(app)
}

fn post(client: &TestClient, target: &str, coding: &str, body: Vec<u8>) -> TestResponse {
    client.post(target).header("Content-Encoding", coding).body(body).send()
}

#[test]
fn a_body_of_every_coding_is_read_as_any_other() {
    let client = decompressing(Decompression::new());
    for coding in ContentCoding::ALL {
        for length in [1, 1000, 100_000] {
            let body = noise(length);
            assert_eq!(
                post(&client, "/whole", coding.name(), encoded(coding, &body)).bytes(),
                body,
                "{coding}"
            );
            assert_eq!(
                post(&client, "/count", coding.name(), encoded(coding, &body)).text(),
                length.to_string()
            );
        }
        assert_eq!(post(&client, "/describe", coding.name(), encoded(coding, b"abc")).text(), "3 None false");
    }
    assert_eq!(post(&client, "/whole", "Identity", b"abc".to_vec()).bytes(), b"abc");
    assert_eq!(post(&client, "/whole", "X-GZIP", encoded(ContentCoding::Gzip, b"abc")).bytes(), b"abc");
    assert_eq!(post(&client, "/whole", "gzip", Vec::new()).bytes(), b"");
    assert_eq!(client.post("/describe").body("abc").send().text(), "3 Some(3) false");
}

#[test]
fn without_the_middleware_a_body_is_what_was_sent() {
    let client = TestClient::new(Router::new().post("/", |body: Bytes| body));
    let body = encoded(ContentCoding::Gzip, b"abc");
    assert_eq!(post(&client, "/", "gzip", body.clone()).bytes(), body);
}

#[test]
fn a_bomb_is_refused_when_it_has_grown_to_the_limit() {
    let client = decompressing(Decompression::new().max_inflated_bytes(1_000_000));
    for coding in ContentCoding::ALL {
        let bomb = encoded(coding, &vec![0; 1_000_001]);
        assert!(bomb.len() < 5_000, "{coding}: {}", bomb.len());
        assert_eq!(post(&client, "/count", coding.name(), bomb.clone()).status(), 413, "{coding}");
        assert_eq!(post(&client, "/whole", coding.name(), bomb).status(), 413, "{coding}");
        let fits = encoded(coding, &vec![0; 1_000_000]);
        assert_eq!(post(&client, "/count", coding.name(), fits).text(), "1000000", "{coding}");
        let whole =
            |length| post(&client, "/whole", coding.name(), encoded(coding, &vec![0; length])).status();
        assert_eq!(
            (whole(100_000), whole(100_001)),
            (StatusCode::OK, StatusCode::PAYLOAD_TOO_LARGE),
            "{coding}"
        );
    }
}

#[test]
fn a_broken_body_is_refused_wherever_it_is_cut() {
    let client = decompressing(Decompression::new());
    for coding in ContentCoding::ALL {
        let body = encoded(coding, b"warp and weft, warp and weft");
        for end in 1..body.len() {
            let response = post(&client, "/count", coding.name(), body[..end].to_vec());
            assert_eq!(response.status(), 400, "{coding} cut at {end}");
        }
        let followed = [&body[..], b"x"].concat();
        assert_eq!(post(&client, "/count", coding.name(), followed).status(), 400, "{coding}");
        let response = post(&client, "/whole", coding.name(), b"no such thing".to_vec());
        assert_eq!(response.status(), 400, "{coding}");
        assert!(response.text().contains("the body's content coding is broken"), "{}", response.text());
    }
}

#[test]
fn an_unknown_coding_is_a_415_that_names_the_known_ones() {
    let client = decompressing(Decompression::new().codings([ContentCoding::Gzip, ContentCoding::Zstd]));
    for coding in ["br", "compress", "gzip, gzip", "gzip, br", "gzip;q=1", "*"] {
        let response = post(&client, "/count", coding, b"x".to_vec());
        assert_eq!(response.status(), 415, "{coding}");
        let accepted = response.header("accept-encoding").unwrap();
        assert_eq!(accepted, "gzip, zstd");
        assert!(AcceptEncoding::parse(accepted).preferred(&ContentCoding::ALL).is_some());
    }
}

#[test]
fn a_window_of_brotli_beyond_its_rfc_is_refused() {
    let client = decompressing(Decompression::new());
    let mut large = Vec::new();
    let params =
        brotli::enc::BrotliEncoderParams { large_window: true, lgwin: 28, quality: 5, ..Default::default() };
    brotli::BrotliCompress(&mut &vec![b'x'; 100][..], &mut large, &params).unwrap();
    assert_eq!(post(&client, "/count", "br", large).status(), 400);
}
