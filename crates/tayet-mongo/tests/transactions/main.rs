//! What a replica set is told of transactions, and what becomes of its answers. Whether it then does all or nothing is its own.

mod replica_set;

use tayet_mongo::{Db, Document, MAX_TRANSACTION_ATTEMPTS, Mongo, MongoErrorKind, Result, doc};

use self::replica_set::ReplicaSet;

const TRANSIENT: &str = "TransientTransactionError";
const UNHEARD: &str = "UnknownTransactionCommitResult";

/// An answer that has this label.
fn failure(code: i32, label: &str) -> Document {
    doc! { "ok": 0, "code": code, "errmsg": "not now", "errorLabels": [label] }
}

/// The first `times` commands of this name fail.
fn failing(times: usize, name: &'static str, answer: Document) -> ReplicaSet {
    let mut left = times;
    ReplicaSet::start(move |asked| {
        if asked != name || left == 0 {
            return doc! {};
        }
        left -= 1;
        answer.clone()
    })
}

fn db(set: &ReplicaSet) -> Db {
    Mongo::new(&set.uri).unwrap().db()
}

fn insert(db: &Db) -> Result<()> {
    db.collection::<Document>("accounts").insert_one(doc! { "cents": 5 }).map(drop)
}

#[test]
fn what_belongs_together_is_committed_together() {
    let set = ReplicaSet::start(|_| doc! {});
    let db = db(&set);
    let pay = |db: &Db| insert(db).and_then(|()| insert(db));
    db.transaction(pay).unwrap();
    db.transaction(pay).unwrap();
    let expected = ["insert 1 start", "insert 1", "commitTransaction 1"];
    assert_eq!(set.asked()[..3], expected);
    // Another session may have been taken, whose numbers begin anew.
    let second = set.asked()[3..].to_vec();
    assert_eq!(second.len(), 3, "{second:?}");
    assert!(second[0].ends_with(" start") && second[2].starts_with("commitTransaction"), "{second:?}");
}

#[test]
fn what_fails_is_aborted() {
    let set = ReplicaSet::start(|_| doc! {});
    let failed: tayet::Result<()> = db(&set).transaction(|db| {
        insert(db)?;
        Err(tayet::Error::new(tayet::StatusCode::CONFLICT, "not today"))
    });
    assert_eq!(failed.unwrap_err().status(), 409);
    assert_eq!(set.asked(), ["insert 1 start", "abortTransaction 1"]);
}

#[test]
fn what_collides_is_done_again() {
    let set = failing(2, "insert", failure(112, TRANSIENT));
    let mut attempts = 0;
    let done = db(&set).transaction(|db| {
        attempts += 1;
        insert(db)?;
        Ok::<_, tayet_mongo::MongoError>("paid")
    });
    assert_eq!((done.unwrap(), attempts), ("paid", 3));
    let expected = [
        "insert 1 start",
        "abortTransaction 1",
        "insert 2 start",
        "abortTransaction 2",
        "insert 3 start",
        "commitTransaction 3",
    ];
    assert_eq!(set.asked(), expected);
}

#[test]
fn what_always_collides_is_a_conflict() {
    let set = failing(usize::MAX, "insert", failure(112, TRANSIENT));
    let mut attempts = 0;
    let refused: Result<()> = db(&set).transaction(|db| {
        attempts += 1;
        insert(db)
    });
    assert_eq!(refused.unwrap_err().kind(), MongoErrorKind::WriteConflict);
    assert_eq!(attempts, MAX_TRANSACTION_ATTEMPTS);
}

#[test]
fn a_commit_that_may_not_have_been_heard_is_said_again() {
    let set = failing(2, "commitTransaction", failure(50, UNHEARD));
    let mut attempts = 0;
    let done: Result<()> = db(&set).transaction(|db| {
        attempts += 1;
        insert(db)
    });
    assert_eq!((done.unwrap(), attempts), ((), 1));
    assert_eq!(
        set.asked(),
        ["insert 1 start", "commitTransaction 1", "commitTransaction 1", "commitTransaction 1"]
    );
}

#[test]
fn a_commit_that_is_never_heard_is_an_error_in_the_end() {
    let set = failing(usize::MAX, "commitTransaction", failure(50, UNHEARD));
    let refused: Result<()> = db(&set).transaction(insert);
    assert_eq!(refused.unwrap_err().kind(), MongoErrorKind::TimedOut);
    assert_eq!(set.asked().len(), 1 + MAX_TRANSACTION_ATTEMPTS);
}

#[test]
fn a_commit_that_collides_is_done_again_from_the_beginning() {
    let set = failing(1, "commitTransaction", failure(112, TRANSIENT));
    let done: Result<()> = db(&set).transaction(insert);
    assert_eq!(done.unwrap(), ());
    assert_eq!(
        set.asked(),
        ["insert 1 start", "commitTransaction 1", "insert 2 start", "commitTransaction 2"]
    );
}
