//! Declared indexes.

use std::time::{Duration, Instant};

use tayet_mongo::{Db, Document, Index, Mongo, MongoErrorKind, doc};

use crate::ferretdb::TestDatabase;

fn declare(mongo: Mongo) -> Mongo {
    mongo
        .index("users", Index::on(doc! { "email": 1 }).unique())
        .index("users", Index::on(doc! { "age": -1 }))
}

fn keys(db: &Db) -> Vec<Document> {
    let reply = db.command(doc! { "listIndexes": "users" }).unwrap();
    let batch = reply.get_document("cursor").unwrap().get_array("firstBatch").unwrap();
    batch.iter().map(|index| index.as_document().unwrap().get_document("key").unwrap().clone()).collect()
}

#[test]
#[ignore = "needs FerretDB: cargo xtask test --only mongo"]
fn declared_indexes_are_created_once_and_again() {
    let database = TestDatabase::with("indexes", declare);
    (0..2).for_each(|_| database.mongo.create_indexes().unwrap());
    let keys = keys(&database.db());
    assert_eq!(keys.len(), 3, "{keys:?}");
    assert!(keys.contains(&doc! { "email": 1 }) && keys.contains(&doc! { "age": -1 }), "{keys:?}");
    let users = database.db().collection::<Document>("users");
    users.insert_one(doc! { "email": "a@b" }).unwrap();
    assert_eq!(users.insert_one(doc! { "email": "a@b" }).unwrap_err().kind(), MongoErrorKind::DuplicateKey);
}

#[test]
#[ignore = "needs FerretDB: cargo xtask test --only mongo"]
fn an_index_that_cannot_be_says_so() {
    let database = TestDatabase::with("no_index", declare);
    let users = database.db().collection::<Document>("users");
    users.insert_many([doc! { "email": "a@b" }, doc! { "email": "a@b" }]).unwrap();
    assert!(database.mongo.create_indexes().is_err());
}

#[test]
#[ignore = "needs FerretDB: cargo xtask test --only mongo"]
fn the_first_query_has_them_created_behind_it() {
    let empty = TestDatabase::new("late_indexes");
    let mongo = declare(Mongo::new(&empty.uri).unwrap());
    mongo.ping().unwrap();
    let begun = Instant::now();
    while mongo.db().command(doc! { "listIndexes": "users" }).is_err() || keys(&mongo.db()).len() < 3 {
        assert!(begun.elapsed() < Duration::from_secs(20), "they never came");
        std::thread::sleep(Duration::from_millis(20));
    }
}
