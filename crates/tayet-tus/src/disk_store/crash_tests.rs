//! The disk store when every single file operation fails, or is the last one.

use std::path::Path;

use super::*;
use crate::{Finished, Metadata};

const PARTS: [&[u8]; 3] = [b"the warp is ", b"strung, the weft ", b"is not yet"];

fn whole() -> Vec<u8> {
    PARTS.concat()
}

fn store(directory: &Path, fsync: Fsync) -> DiskStore {
    DiskStore::new(directory).unwrap().fsync(fsync).digests()
}

fn sequence(length: Option<u64>) -> Upload {
    Upload::new(Kind::Sequence, length, Metadata::with_file_name("cloth.txt")).unwrap()
}

fn length() -> Option<u64> {
    Some(whole().len() as u64)
}

/// Uploads the text; stops at the first error.
fn upload(store: &DiskStore, upload: Upload, checked: bool) -> Result<Finished, StoreError> {
    let mut stored = store.create(upload)?;
    for part in PARTS {
        if checked {
            stored.provisional().unwrap().begin()?;
        }
        stored.append(part)?;
        if checked {
            stored.provisional().unwrap().keep()?;
        }
        stored.flush()?;
    }
    stored.finish().cloned()
}

/// What a client does that comes back: it sends what is missing from the offset that it is told.
fn resume(store: &DiskStore, id: UploadId) -> Finished {
    let mut stored = store.open(id).unwrap();
    let offset = stored.offset() as usize;
    if stored.finished().is_none() {
        assert!(offset <= whole().len());
        let on_disk = fs::read(store.data_path(id)).unwrap();
        assert_eq!(on_disk, whole()[..offset], "every byte up to the offset is what was sent");
        stored.append(&whole()[offset..]).unwrap();
        stored.finish().unwrap();
    }
    stored.finished().unwrap().clone()
}

fn assert_finished(store: &DiskStore, finished: &Finished) {
    assert_eq!(fs::read(store.directory().join(&finished.name)).unwrap(), whole());
    assert_eq!(finished.length, whole().len() as u64);
    let digest = hexadecimal_digest(&whole());
    assert_eq!(finished.sha256.as_deref(), Some(digest.as_str()));
}

fn hexadecimal_digest(bytes: &[u8]) -> String {
    use digest::Digest;
    crate::checksum::hexadecimal(&sha2::Sha256::digest(bytes))
}

fn names(directory: &Path) -> Vec<String> {
    let names =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name != WORKSHOP).collect();
    names.sort();
    names
}

/// Runs `attempt` with a fault planned after 0, 1, 2, ... operations, until none strikes any more.
fn with_each_fault(plan: fn(&faults::Faults, usize), mut attempt: impl FnMut(&DiskStore, &Path)) -> usize {
    for count in 0.. {
        let directory = tempfile::tempdir().unwrap();
        let failing = store(directory.path(), Fsync::OnEveryAppend);
        plan(&failing.files.faults, count);
        attempt(&failing, directory.path());
        if !failing.files.faults.have_struck() {
            return count;
        }
    }
    unreachable!("some number of operations is enough")
}

#[test]
fn a_crash_at_any_instant_leaves_an_upload_complete_or_resumable() {
    for checked in [false, true] {
        let operations = with_each_fault(faults::Faults::crash_after, |crashing, directory| {
            let upload_ = sequence(length());
            let id = upload_.id;
            let outcome = upload(crashing, upload_, checked);
            let after = store(directory, Fsync::OnComplete);
            match after.open(id).map(drop) {
                Err(StoreError::NotFound) => {
                    assert!(outcome.is_err(), "who was told of an upload finds it");
                    assert_eq!(names(directory), [""; 0]);
                }
                opened => {
                    opened.unwrap();
                    assert_finished(&after, &resume(&after, id));
                    assert_eq!(names(directory), ["cloth.txt"], "complete once, whatever happened");
                }
            }
        });
        assert!(operations >= 20, "only {operations} operations were tried");
    }
}

#[test]
fn any_operation_may_find_the_disk_full_and_the_upload_goes_on_where_it_was() {
    any_operation_may_fail_once(faults::Faults::fill_up_after, |error| matches!(error, StoreError::Full(_)));
}

#[test]
fn any_operation_may_find_the_disk_broken_and_the_upload_goes_on_where_it_was() {
    any_operation_may_fail_once(faults::Faults::break_after, |error| matches!(error, StoreError::Io(_)));
}

fn any_operation_may_fail_once(plan: fn(&faults::Faults, usize), is_expected: fn(&StoreError) -> bool) {
    let operations = with_each_fault(plan, |failing, directory| {
        let upload_ = sequence(length());
        let id = upload_.id;
        if let Err(error) = upload(failing, upload_, false) {
            assert!(is_expected(&error), "{error}");
        }
        let calm = store(directory, Fsync::Never);
        match calm.open(id).map(drop) {
            Err(StoreError::NotFound) => assert_eq!(names(directory), [""; 0]),
            opened => {
                opened.unwrap();
                assert_finished(&calm, &resume(&calm, id));
                assert_eq!(names(directory), ["cloth.txt"]);
            }
        }
    });
    assert!(operations >= 20, "only {operations} operations were tried");
}

#[test]
fn what_was_not_verified_does_not_count_after_a_crash() {
    let directory = tempfile::tempdir().unwrap();
    let before = store(directory.path(), Fsync::Never);
    let upload = sequence(length());
    let id = upload.id;
    let mut stored = before.create(upload).unwrap();
    stored.append(PARTS[0]).unwrap();
    stored.provisional().unwrap().begin().unwrap();
    stored.append(b"damaged in transit").unwrap();
    drop(stored);
    let after = store(directory.path(), Fsync::Never);
    assert_eq!(after.open(id).unwrap().offset(), PARTS[0].len() as u64);
    assert_finished(&after, &resume(&after, id));
}

#[test]
fn a_crash_while_it_is_removed_never_leaves_a_lie() {
    let operations = with_each_fault(faults::Faults::crash_after, |crashing, directory| {
        let calm = store(directory, Fsync::Never);
        let upload_ = sequence(length());
        let id = upload_.id;
        upload(&calm, upload_, false).unwrap();
        let removed = Terminate::terminate(crashing, id);
        let after = store(directory, Fsync::Never);
        match after.open(id).map(|stored| stored.finished().cloned()) {
            Ok(finished) => {
                assert!(removed.is_err());
                assert_finished(&after, &finished.unwrap());
            }
            Err(error) => assert!(matches!(error, StoreError::Gone { .. }), "{error}"),
        }
        if removed.is_ok() {
            assert_eq!(names(directory), [""; 0]);
        }
    });
    assert!(operations > 2, "only {operations} operations were tried");
}

#[test]
fn what_is_to_be_removed_goes_though_the_disk_is_full() {
    let mut removals_without_room = 0;
    with_each_fault(faults::Faults::fill_up_after, |full, directory| {
        let calm = store(directory, Fsync::Never);
        let upload_ = sequence(length());
        let id = upload_.id;
        upload(&calm, upload_, false).unwrap();
        if Terminate::terminate(full, id).is_err() {
            return;
        }
        assert_eq!(names(directory), [""; 0]);
        let after = store(directory, Fsync::Never).open(id).map(drop).unwrap_err();
        match after {
            StoreError::NotFound => removals_without_room += 1,
            error => assert!(matches!(error, StoreError::Gone { .. }), "{error}"),
        }
    });
    assert!(removals_without_room > 0, "there always was room to say that it is gone");
}

#[test]
fn a_file_that_is_there_is_never_replaced() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("cloth.txt"), "somebody else's").unwrap();
    let store = store(directory.path(), Fsync::Never);
    for name in ["cloth (2).txt", "cloth (3).txt"] {
        let finished = upload(&store, sequence(length()), false).unwrap();
        assert_eq!(finished.name, name);
        assert_finished(&store, &finished);
    }
    assert_eq!(fs::read(directory.path().join("cloth.txt")).unwrap(), b"somebody else's");
}

#[test]
fn uploads_that_finish_at_once_get_a_name_each() {
    const UPLOADS: usize = 16;
    let directory = tempfile::tempdir().unwrap();
    let store = store(directory.path(), Fsync::Never);
    std::thread::scope(|scope| {
        for _ in 0..UPLOADS {
            scope.spawn(|| assert_finished(&store, &upload(&store, sequence(length()), false).unwrap()));
        }
    });
    assert_eq!(names(directory.path()).len(), UPLOADS);
}

#[test]
fn ranges_survive_a_crash_without_counting_a_gap() {
    let operations = with_each_fault(faults::Faults::crash_after, |crashing, directory| {
        let upload = Upload::new(Kind::Ranges, length(), Metadata::default()).unwrap();
        let id = upload.id;
        let _ = crashing.create(upload).and_then(|mut stored| {
            for range in [20..30, 0..10, 15..25] {
                let ranges = stored.ranges().unwrap();
                ranges.write_at(range.start as u64, &whole()[range.clone()])?;
                ranges.mark_received(range.start as u64..range.end as u64)?;
                stored.flush()?;
            }
            Ok(())
        });
        let after = store(directory, Fsync::Never);
        let Ok(mut stored) = after.open(id) else { return };
        let received = stored.ranges().unwrap().received().clone();
        let on_disk = fs::read(after.data_path(id)).unwrap();
        for range in received.iter() {
            let range = range.start as usize..range.end as usize;
            assert_eq!(on_disk[range.clone()], whole()[range]);
        }
        assert!(!received.contains(10..11) && !received.contains(30..31));
    });
    assert!(operations > 10, "only {operations} operations were tried");
}

#[test]
fn what_nobody_owns_is_swept_up_and_the_rest_stays() {
    let directory = tempfile::tempdir().unwrap();
    let store = store(directory.path(), Fsync::Never);
    let upload = sequence(length());
    let id = upload.id;
    drop(store.create(upload).unwrap());
    let orphan = store.data_path(UploadId::random().unwrap());
    let unfinished = store.record_path(id).with_extension("new");
    fs::write(&orphan, "x").unwrap();
    fs::write(&unfinished, "x").unwrap();
    store.tidy(SystemTime::UNIX_EPOCH).unwrap();
    assert!(orphan.exists() && unfinished.exists(), "what is young may belong to a creation under way");
    store.tidy(SystemTime::now() + std::time::Duration::from_secs(60)).unwrap();
    assert!(!orphan.exists() && !unfinished.exists());
    assert_eq!(store.open(id).unwrap().offset(), 0);
}
