//! Extensions creation, creation-defer-length and creation-with-upload.

use tayet::Method;
use tayet_tus::UploadLimits;

use crate::bench::{Bench, OFFSET_STREAM};

#[test]
fn creation_is_answered_201_with_a_location() {
    let bench = Bench::new();
    for target in ["/files", "/files/"] {
        let created = bench.tus(Method::POST, target).header("Upload-Length", "5").send();
        assert_eq!(created.status(), 201);
        let location = created.header("location").unwrap();
        assert!(location.starts_with("/files/") && location.len() == "/files/".len() + 32, "{location}");
        assert_eq!(bench.offset(location), 0);
    }
}

#[test]
fn creation_without_a_length_is_a_400() {
    assert_eq!(Bench::new().tus(Method::POST, "/files").send().status(), 400);
}

#[test]
fn a_length_over_tus_max_size_is_a_413() {
    let bench = Bench::with(UploadLimits { max_upload_bytes: 5, ..UploadLimits::default() });
    let create = |length| bench.tus(Method::POST, "/files").header("Upload-Length", length).send().status();
    assert_eq!((create("5").as_u16(), create("6").as_u16()), (201, 413));
}

#[test]
fn an_upload_of_length_0_is_complete_at_once() {
    let bench = Bench::new();
    let location = bench.create(&[("Upload-Length", "0"), ("Upload-Metadata", "filename ZW1wdHk=")]);
    assert_eq!(bench.file("empty"), b"");
    assert_eq!(bench.offset(&location), 0);
}

#[test]
fn upload_metadata_comes_back_as_it_was() {
    let bench = Bench::new();
    let metadata = "filename d29ybGRfZG9taW5hdGlvbl9wbGFuLnBkZg==,is_confidential";
    let location = bench.create(&[("Upload-Length", "5"), ("Upload-Metadata", metadata)]);
    assert_eq!(bench.head(&location).header("upload-metadata"), Some(metadata));
    let plain = bench.create(&[("Upload-Length", "5")]);
    assert_eq!(bench.head(&plain).header("upload-metadata"), None);
}

#[test]
fn upload_metadata_of_another_form_is_a_400() {
    let bench = Bench::new();
    for metadata in ["filename !", "a,a", "filename YQ==,,"] {
        let request = bench.tus(Method::POST, "/files").header("Upload-Length", "5");
        assert_eq!(request.header("Upload-Metadata", metadata).send().status(), 400, "{metadata}");
    }
}

#[test]
fn a_deferred_length_is_said_in_head_until_it_is_known() {
    let bench = Bench::new();
    let location = bench.create(&[("Upload-Defer-Length", "1")]);
    let head = bench.head(&location);
    assert_eq!((head.header("upload-defer-length"), head.header("upload-length")), (Some("1"), None));
    assert_eq!(bench.append(&location, 0, b"hello").status(), 204);
    let last = bench.appending(&location, 5).header("Upload-Length", "10").body("world").send();
    assert_eq!(last.status(), 204);
    let head = bench.head(&location);
    assert_eq!((head.header("upload-defer-length"), head.header("upload-length")), (None, Some("10")));
    assert_eq!(bench.files().len(), 1);
}

#[test]
fn a_deferred_length_may_be_said_by_a_patch_without_bytes() {
    let bench = Bench::new();
    let location = bench.create(&[("Upload-Defer-Length", "1")]);
    assert_eq!(bench.append(&location, 0, b"hello").status(), 204);
    assert_eq!(bench.appending(&location, 5).header("Upload-Length", "5").send().status(), 204);
    assert_eq!(bench.files().len(), 1, "it is complete");
}

#[test]
fn a_length_once_said_does_not_change() {
    let bench = Bench::new();
    for fields in [[("Upload-Length", "10")], [("Upload-Defer-Length", "1")]] {
        let location = bench.create(&fields);
        assert_eq!(
            bench.appending(&location, 0).header("Upload-Length", "10").body("hello").send().status(),
            204
        );
        assert_eq!(
            bench.appending(&location, 5).header("Upload-Length", "11").body("w").send().status(),
            400
        );
        assert_eq!(bench.offset(&location), 5);
    }
    let location = bench.create(&[("Upload-Defer-Length", "1")]);
    assert_eq!(bench.append(&location, 0, b"hello").status(), 204);
    assert_eq!(bench.appending(&location, 5).header("Upload-Length", "4").send().status(), 400);
}

#[test]
fn upload_defer_length_is_1_or_a_400() {
    let bench = Bench::new();
    for (fields, status) in [
        (&[("Upload-Defer-Length", "2")][..], 400),
        (&[("Upload-Defer-Length", "0"), ("Upload-Length", "5")], 400),
        (&[("Upload-Defer-Length", "1"), ("Upload-Length", "5")], 400),
        (&[("Upload-Defer-Length", "1")], 201),
    ] {
        let request = bench.tus(Method::POST, "/files");
        let request = fields.iter().fold(request, |request, (name, value)| request.header(name, value));
        assert_eq!(request.send().status(), status, "{fields:?}");
    }
}

#[test]
fn creation_with_bytes_says_the_offset() {
    let bench = Bench::new();
    let request = bench.tus(Method::POST, "/files").header("Upload-Length", "10");
    let created = request.header("Content-Type", OFFSET_STREAM).body("hello").send();
    assert_eq!((created.status().as_u16(), created.header("upload-offset")), (201, Some("5")));
    let location = created.header("location").unwrap();
    assert_eq!(bench.append(location, 5, b"world").status(), 204);
    assert_eq!(bench.files().len(), 1);
}

#[test]
fn creation_with_all_bytes_completes_it() {
    let bench = Bench::new();
    let request = bench.tus(Method::POST, "/files").header("Upload-Length", "5");
    let request = request.header("Upload-Metadata", "filename YQ==").header("Content-Type", OFFSET_STREAM);
    assert_eq!(request.body("hello").send().status(), 201);
    assert_eq!(bench.file("a"), b"hello");
}

#[test]
fn creation_with_bytes_takes_its_media_type_alone_and_no_more_than_the_length() {
    let bench = Bench::new();
    for (length, media_type, status) in [("10", "text/plain", 415), ("4", OFFSET_STREAM, 413)] {
        let request = bench.tus(Method::POST, "/files").header("Upload-Length", length);
        assert_eq!(request.header("Content-Type", media_type).body("hello").send().status(), status);
    }
}
