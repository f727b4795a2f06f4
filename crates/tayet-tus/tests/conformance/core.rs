//! Core protocol.

use tayet::Method;
use tayet_tus::UploadLimits;

use crate::bench::{Bench, OFFSET_STREAM};

#[test]
fn upload_offset_and_upload_length_are_non_negative_integers() {
    let bench = Bench::new();
    for text in ["-1", "a", "1.0", "", "0x10"] {
        let created = bench.tus(Method::POST, "/files").header("Upload-Length", text).send();
        assert_eq!(created.status(), 400, "{text:?}");
        let location = bench.create(&[("Upload-Length", "5")]);
        let request = bench.tus(Method::PATCH, &location).header("Content-Type", OFFSET_STREAM);
        assert_eq!(request.header("Upload-Offset", text).body("hello").send().status(), 400, "{text:?}");
    }
}

#[test]
fn tus_resumable_is_in_every_answer_but_that_to_options() {
    let bench = Bench::new();
    let location = bench.create(&[("Upload-Length", "5")]);
    for (method, target) in [
        ("POST", "/files"),
        ("HEAD", location.as_str()),
        ("PATCH", &location),
        ("DELETE", &location),
        ("HEAD", "/files/0"),
        ("GET", "/files"),
        ("POST", "/files/"),
    ] {
        let response = bench.tus(method.parse().unwrap(), target).send();
        assert_eq!(response.header("tus-resumable"), Some("1.0.0"), "{method} {target}");
    }
}

#[test]
fn a_version_that_is_not_spoken_is_a_412_with_tus_version_and_the_request_is_not_processed() {
    let bench = Bench::new();
    let location = bench.create(&[("Upload-Length", "5")]);
    for (method, target) in
        [("POST", "/files"), ("HEAD", location.as_str()), ("PATCH", &location), ("DELETE", &location)]
    {
        for version in ["0.2.2", "1.0.1", ""] {
            let request = bench.bare(method, target).header("Tus-Resumable", version);
            let request = request.header("Upload-Length", "5").header("Upload-Offset", "0");
            let refused = request.header("Content-Type", OFFSET_STREAM).body("hello").send();
            assert_eq!(refused.status(), 412, "{method} {version:?}");
            assert_eq!(refused.header("tus-version"), Some("1.0.0"));
        }
    }
    assert_eq!(bench.offset(&location), 0);
}

#[test]
fn a_request_that_says_no_version_is_a_412() {
    let bench = Bench::new();
    let location = bench.create(&[("Upload-Length", "5")]);
    for (method, target) in [("HEAD", location.as_str()), ("PATCH", &location), ("DELETE", &location)] {
        assert_eq!(bench.bare(method, target).send().status(), 412, "{method}");
    }
}

#[test]
fn x_http_method_override_is_the_method() {
    let bench = Bench::new();
    let location = bench.create(&[("Upload-Length", "5")]);
    let request = bench.tus(Method::POST, &location).header("X-HTTP-Method-Override", "PATCH");
    let request = request.header("Upload-Offset", "0").header("Content-Type", OFFSET_STREAM);
    let appended = request.body("hello").send();
    assert_eq!((appended.status().as_u16(), appended.header("upload-offset")), (204, Some("5")));
    let deleted = bench.tus(Method::POST, &location).header("X-HTTP-Method-Override", "DELETE").send();
    assert_eq!(deleted.status(), 204);
    assert_eq!(bench.head(&location).status(), 410);
}

#[test]
fn head_says_the_offset_even_if_it_is_0_and_the_length_and_forbids_to_store_it() {
    let bench = Bench::new();
    let location = bench.create(&[("Upload-Length", "5")]);
    let head = bench.head(&location);
    assert_eq!(head.status(), 200);
    assert_eq!(head.header("upload-offset"), Some("0"));
    assert_eq!(head.header("upload-length"), Some("5"));
    assert_eq!(head.header("cache-control"), Some("no-store"));
}

#[test]
fn head_of_what_is_not_there_is_a_404_without_an_offset() {
    let bench = Bench::new();
    for name in ["00112233445566778899aabbccddeeff", "0", "..", "%2e%2e%2fetc"] {
        let head = bench.head(&format!("/files/{name}"));
        assert_eq!(head.status(), 404, "{name}");
        assert_eq!(head.header("upload-offset"), None);
        assert_eq!(head.header("cache-control"), Some("no-store"));
    }
}

#[test]
fn patch_takes_its_media_type_alone() {
    let bench = Bench::new();
    let location = bench.create(&[("Upload-Length", "5")]);
    for media_type in ["application/octet-stream", "text/plain", ""] {
        let request = bench.tus(Method::PATCH, &location).header("Upload-Offset", "0");
        assert_eq!(request.header("Content-Type", media_type).body("hello").send().status(), 415);
    }
    assert_eq!(bench.offset(&location), 0);
}

#[test]
fn patch_at_another_offset_is_a_409_and_changes_nothing() {
    let bench = Bench::new();
    let location = bench.create(&[("Upload-Length", "10")]);
    assert_eq!(bench.append(&location, 0, b"hello").status(), 204);
    for offset in [0, 4, 6, 10] {
        assert_eq!(bench.append(&location, offset, b"x").status(), 409, "{offset}");
    }
    assert_eq!(bench.offset(&location), 5);
}

#[test]
fn patch_is_answered_204_with_the_new_offset_and_the_bytes_are_there() {
    let bench = Bench::new();
    let location = bench.create(&[("Upload-Length", "10"), ("Upload-Metadata", "filename YS50eHQ=")]);
    let first = bench.append(&location, 0, b"hello");
    assert_eq!((first.status().as_u16(), first.header("upload-offset")), (204, Some("5")));
    assert!(bench.files().is_empty(), "it is not finished");
    let second = bench.append(&location, 5, b"world");
    assert_eq!((second.status().as_u16(), second.header("upload-offset")), (204, Some("10")));
    assert_eq!(bench.file("a.txt"), b"helloworld");
    assert_eq!(bench.offset(&location), 10, "it can be asked when it is finished, too");
}

#[test]
fn patch_without_an_offset_is_a_400() {
    let bench = Bench::new();
    let location = bench.create(&[("Upload-Length", "5")]);
    let request = bench.tus(Method::PATCH, &location).header("Content-Type", OFFSET_STREAM);
    assert_eq!(request.body("hello").send().status(), 400);
}

#[test]
fn patch_of_what_is_not_there_is_a_404() {
    let bench = Bench::new();
    assert_eq!(bench.append("/files/00112233445566778899aabbccddeeff", 0, b"x").status(), 404);
}

#[test]
fn more_than_the_length_is_a_413_and_is_not_taken() {
    let bench = Bench::new();
    let location = bench.create(&[("Upload-Length", "5")]);
    assert_eq!(bench.append(&location, 0, b"hello!").status(), 413);
    assert_eq!(bench.offset(&location), 0);
}

#[test]
fn an_empty_patch_of_what_is_finished_is_no_error() {
    let bench = Bench::new();
    let location = bench.create(&[("Upload-Length", "5")]);
    assert_eq!(bench.append(&location, 0, b"hello").status(), 204);
    assert_eq!(bench.append(&location, 5, b"").status(), 204);
    assert_eq!(bench.append(&location, 5, b"!").status(), 413);
}

#[test]
fn options_says_versions_extensions_size_and_algorithms() {
    let bench = Bench::with(UploadLimits { max_upload_bytes: 1_000, ..UploadLimits::default() });
    for target in ["/files", "/files/", "/files/x"] {
        let options = bench.bare("OPTIONS", target).send();
        assert_eq!(options.status(), 204);
        assert_eq!(options.header("tus-version"), Some("1.0.0"));
        assert_eq!(options.header("tus-max-size"), Some("1000"));
        assert_eq!(options.header("tus-checksum-algorithm"), Some("sha1,sha256,md5,crc32c"));
        assert_eq!(
            options.header("tus-extension"),
            Some(
                "creation,creation-with-upload,creation-defer-length,expiration,checksum,checksum-trailer,\
                 termination,concatenation"
            )
        );
    }
    let options = Bench::new().bare("OPTIONS", "/files").send();
    assert_eq!(options.header("tus-max-size"), None, "there is none");
}

#[test]
fn another_method_is_a_405_that_names_those_there_are() {
    let bench = Bench::new();
    let location = bench.create(&[("Upload-Length", "5")]);
    let refused = bench.tus(Method::POST, &location).send();
    assert_eq!(refused.status(), 405);
    assert_eq!(refused.header("allow"), Some("HEAD, PATCH, DELETE, OPTIONS"));
    assert_eq!(bench.tus(Method::PATCH, "/files").send().header("allow"), Some("POST, OPTIONS"));
}

#[test]
fn a_page_of_another_site_may_upload_and_read_the_fields() {
    let bench = Bench::new();
    let preflight = bench
        .bare("OPTIONS", "/files")
        .header("Origin", "https://app.example")
        .header("Access-Control-Request-Method", "PATCH")
        .header("Access-Control-Request-Headers", "tus-resumable,upload-offset")
        .send();
    assert_eq!(preflight.status(), 204);
    assert_eq!(preflight.header("access-control-allow-origin"), Some("*"));
    assert!(preflight.header("access-control-allow-methods").unwrap().contains("PATCH"));
    assert_eq!(preflight.header("access-control-allow-headers"), Some("tus-resumable,upload-offset"));
    let created = bench.tus(Method::POST, "/files").header("Origin", "https://app.example");
    let created = created.header("Upload-Length", "5").send();
    let exposed = created.header("access-control-expose-headers").unwrap();
    assert!(["location", "upload-offset", "tus-resumable"].iter().all(|name| exposed.contains(name)));
}
