//! Extension concatenation.

use tayet::Method;
use tayet_tus::UploadLimits;

use crate::bench::Bench;

fn part(bench: &Bench, bytes: &'static [u8]) -> String {
    let location = bench.create(&[("Upload-Length", &bytes.len().to_string()), ("Upload-Concat", "partial")]);
    assert_eq!(bench.append(&location, 0, bytes).status(), 204);
    location
}

fn join(bench: &Bench, concat: &str) -> u16 {
    bench.tus(Method::POST, "/files").header("Upload-Concat", concat).send().status().as_u16()
}

#[test]
fn a_final_upload_has_the_bytes_of_its_parts_in_their_order() {
    let bench = Bench::new();
    let (first, second) = (part(&bench, b"hello"), part(&bench, b" world"));
    assert!(bench.files().is_empty(), "parts are no files");
    let concat = format!("final;{first} http://server.example{second}");
    let whole = bench.create(&[("Upload-Concat", &concat), ("Upload-Metadata", "filename YQ==")]);
    assert_eq!(bench.file("a"), b"hello world");
    let head = bench.head(&whole);
    assert_eq!((head.header("upload-offset"), head.header("upload-length")), (Some("11"), Some("11")));
    assert_eq!(head.header("upload-concat"), Some(format!("final;{first} {second}").as_str()));
    assert_eq!(bench.head(&first).header("upload-concat"), Some("partial"));
}

#[test]
fn a_final_upload_is_not_patched() {
    let bench = Bench::new();
    let whole = bench.create(&[("Upload-Concat", &format!("final;{}", part(&bench, b"hello")))]);
    assert_eq!(bench.append(&whole, 5, b"!").status(), 403);
    assert_eq!(bench.append(&whole, 5, b"").status(), 403);
}

#[test]
fn a_final_upload_says_no_length_of_its_own() {
    let bench = Bench::new();
    let request = bench.tus(Method::POST, "/files").header("Upload-Length", "5");
    let concat = format!("final;{}", part(&bench, b"hello"));
    assert_eq!(request.header("Upload-Concat", &concat).send().status(), 400);
}

#[test]
fn parts_must_be_there_and_partial_and_complete() {
    let bench = Bench::new();
    let unfinished = bench.create(&[("Upload-Length", "5"), ("Upload-Concat", "partial")]);
    let ordinary = bench.create(&[("Upload-Length", "0")]);
    assert_eq!(join(&bench, &format!("final;{unfinished}")), 400);
    assert_eq!(join(&bench, &format!("final;{ordinary}")), 400);
    assert_eq!(join(&bench, "final;/files/00112233445566778899aabbccddeeff"), 404);
    for concat in ["final;", "final", "final;/files/x", "partly", ""] {
        assert_eq!(join(&bench, concat), 400, "{concat:?}");
    }
}

#[test]
fn a_part_may_be_used_twice() {
    let bench = Bench::new();
    let part = part(&bench, b"ab");
    bench.create(&[("Upload-Concat", &format!("final;{part} {part}")), ("Upload-Metadata", "filename YQ==")]);
    assert_eq!(bench.file("a"), b"abab");
}

#[test]
fn the_number_and_the_sum_of_parts_have_limits() {
    let limits = UploadLimits { max_parts: 2, max_upload_bytes: 8, ..UploadLimits::default() };
    let bench = Bench::with(limits);
    let part = part(&bench, b"hello");
    assert_eq!(join(&bench, &format!("final;{part} {part} {part}")), 400);
    assert_eq!(join(&bench, &format!("final;{part} {part}")), 413);
    assert_eq!(join(&bench, &format!("final;{part}")), 201);
}
