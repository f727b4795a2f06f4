//! Extension checksum.

use crate::bench::Bench;

/// Of the text `hello`.
const SUMS: [&str; 4] = [
    "sha1 qvTGHdzF6KLavt4PO0gs2a6pQ00=",
    "sha256 LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=",
    "md5 XUFAKrxLKna5cZ2REBfFkg==",
    "crc32c mnG7TA==",
];

#[test]
fn a_right_checksum_is_taken() {
    let bench = Bench::new();
    for sum in SUMS {
        let location = bench.create(&[("Upload-Length", "5")]);
        let appended = bench.appending(&location, 0).header("Upload-Checksum", sum).body("hello").send();
        assert_eq!((appended.status().as_u16(), appended.header("upload-offset")), (204, Some("5")), "{sum}");
    }
    assert_eq!(bench.files().len(), SUMS.len());
}

#[test]
fn a_wrong_checksum_is_a_460_and_its_bytes_are_thrown_away() {
    let bench = Bench::new();
    for sum in SUMS {
        let location = bench.create(&[("Upload-Length", "10")]);
        assert_eq!(bench.append(&location, 0, b"hello").status(), 204);
        let refused = bench.appending(&location, 5).header("Upload-Checksum", sum).body("hellO").send();
        assert_eq!(refused.status(), 460, "{sum}");
        assert_eq!(bench.offset(&location), 5, "{sum}");
        let again = bench.appending(&location, 5).header("Upload-Checksum", sum).body("hello").send();
        assert_eq!(again.status(), 204, "{sum}");
    }
    assert!(bench.files().iter().all(|file| std::fs::read(file).unwrap() == b"hellohello"));
}

#[test]
fn an_algorithm_that_is_not_known_or_another_form_is_a_400() {
    let bench = Bench::new();
    let location = bench.create(&[("Upload-Length", "5")]);
    for sum in ["sha512 YQ==", "sha1", "sha1 !", "md5 YQ=="] {
        let refused = bench.appending(&location, 0).header("Upload-Checksum", sum).body("hello").send();
        assert_eq!(refused.status(), 400, "{sum}");
    }
    assert_eq!(bench.offset(&location), 0);
}

#[test]
fn a_wrong_checksum_on_creation_creates_nothing() {
    let bench = Bench::new();
    let request = bench.tus(tayet::Method::POST, "/files").header("Upload-Length", "5");
    let request = request.header("Content-Type", crate::bench::OFFSET_STREAM);
    let refused = request.header("Upload-Checksum", SUMS[0]).body("hellO").send();
    assert_eq!((refused.status().as_u16(), refused.header("location")), (460, None));
    assert!(bench.files().is_empty());
}
