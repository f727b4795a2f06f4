//! Extension expiration.

use tayet_tus::UploadLimits;

use crate::bench::Bench;

#[test]
fn upload_expires_is_a_date_in_the_answers_about_what_is_unfinished() {
    let bench = Bench::new();
    let location = bench.create(&[("Upload-Length", "10")]);
    let is_date = |value: Option<&str>| httpdate::parse_http_date(value.unwrap()).is_ok();
    assert!(is_date(bench.head(&location).header("upload-expires")));
    let appended = bench.append(&location, 0, b"hello");
    assert!(is_date(appended.header("upload-expires")), "every PATCH that leaves it unfinished says it");
    assert_eq!(bench.append(&location, 5, b"world").header("upload-expires"), None);
}

#[test]
fn uploads_that_do_not_expire_say_nothing_of_it() {
    let bench = Bench::with(UploadLimits { lifetime_seconds: 0, ..UploadLimits::default() });
    let location = bench.create(&[("Upload-Length", "10")]);
    assert_eq!(bench.head(&location).header("upload-expires"), None);
    assert!(!bench.bare("OPTIONS", "/files").send().header("tus-extension").unwrap().contains("expiration"));
}
