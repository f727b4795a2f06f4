//! Extension termination.

use tayet::Method;

use crate::bench::Bench;

#[test]
fn delete_is_answered_204_and_what_follows_404_or_410() {
    let bench = Bench::new();
    let location = bench.create(&[("Upload-Length", "10")]);
    assert_eq!(bench.append(&location, 0, b"hello").status(), 204);
    assert_eq!(bench.tus(Method::DELETE, &location).send().status(), 204);
    assert_eq!(bench.head(&location).status(), 410);
    assert_eq!(bench.append(&location, 5, b"world").status(), 410);
    assert_eq!(bench.tus(Method::DELETE, &location).send().status(), 410);
    assert!(bench.files().is_empty());
}

#[test]
fn delete_frees_what_is_finished_too() {
    let bench = Bench::new();
    let location = bench.create(&[("Upload-Length", "5")]);
    assert_eq!(bench.append(&location, 0, b"hello").status(), 204);
    assert_eq!(bench.files().len(), 1);
    assert_eq!(bench.tus(Method::DELETE, &location).send().status(), 204);
    assert!(bench.files().is_empty());
}

#[test]
fn delete_of_what_was_never_there_is_a_404() {
    let bench = Bench::new();
    assert_eq!(bench.tus(Method::DELETE, "/files/00112233445566778899aabbccddeeff").send().status(), 404);
}
