//! What a collection can do.

use serde::{Deserialize, Serialize};
use tayet_mongo::mongodb::options::{FindOneAndUpdateOptions, FindOneOptions, ReturnDocument, UpdateOptions};
use tayet_mongo::{Bson, Collection, Document, MongoErrorKind, by_id, doc, set};

use crate::ferretdb::TestDatabase;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Cloth {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    threads: i32,
}

fn cloth(id: i32) -> Cloth {
    Cloth { id, name: format!("cloth {}", id % 3), threads: id * 100 }
}

fn filled(database: &TestDatabase, count: i32) -> Collection<Cloth> {
    let cloths = database.db().collection::<Cloth>("cloths");
    let ids = cloths.insert_many((0..count).map(cloth)).unwrap();
    assert_eq!(ids, (0..count).map(Bson::Int32).collect::<Vec<_>>());
    cloths
}

#[test]
#[ignore = "needs FerretDB: cargo xtask test --only mongo"]
fn what_is_inserted_is_found() {
    let database = TestDatabase::new("insert");
    let cloths = database.db().collection::<Cloth>("cloths");
    assert_eq!(cloths.find_by_id(7).unwrap(), None);
    assert_eq!(cloths.insert_one(cloth(7)).unwrap(), Bson::Int32(7));
    assert_eq!(cloths.find_by_id(7).unwrap(), Some(cloth(7)));
    let named = FindOneOptions::builder().sort(doc! { "name": 1 }).build();
    assert_eq!(cloths.find_one_with(doc! { "threads": { "$gt": 600 } }, named).unwrap(), Some(cloth(7)));
    assert_eq!(cloths.insert_many(Vec::<Cloth>::new()).unwrap(), []);
    let without_id = database.db().collection::<Document>("others").insert_one(doc! { "a": 1 }).unwrap();
    assert!(matches!(without_id, Bson::ObjectId(_)), "{without_id}");
}

#[test]
#[ignore = "needs FerretDB: cargo xtask test --only mongo"]
fn a_cursor_comes_batch_by_batch_and_in_order() {
    let database = TestDatabase::new("cursor");
    let cloths = filled(&database, 25);
    let found = cloths.find(doc! {}).sort(doc! { "_id": -1 }).batch_size(4).run().unwrap();
    assert_eq!(found.map(|cloth| cloth.unwrap().id).collect::<Vec<_>>(), (0..25).rev().collect::<Vec<_>>());
    let some = cloths.find(doc! { "threads": { "$gte": 500 } }).sort(doc! { "_id": 1 }).skip(2).limit(3);
    assert_eq!(some.all().unwrap(), [cloth(7), cloth(8), cloth(9)]);
    assert_eq!(cloths.find(doc! { "_id": -1 }).all().unwrap(), []);

    #[derive(Debug, PartialEq, Deserialize)]
    struct Name {
        name: String,
    }
    let names = cloths.of::<Name>();
    let first = names.find(doc! {}).sort(doc! { "_id": 1 }).projection(doc! { "name": 1, "_id": 0 }).limit(1);
    assert_eq!(first.all().unwrap(), [Name { name: "cloth 0".to_owned() }]);
}

#[test]
#[ignore = "needs FerretDB: cargo xtask test --only mongo"]
fn a_document_of_another_shape_is_an_error_and_the_next_is_not() {
    let database = TestDatabase::new("shape");
    let raw = database.db().collection::<Document>("cloths");
    raw.insert_many([doc! { "_id": 1, "name": 5 }, doc! { "_id": 2, "name": "x", "threads": 200 }]).unwrap();
    let cloths = raw.of::<Cloth>();
    let found = cloths.find(doc! {}).sort(doc! { "_id": 1 }).run().unwrap().collect::<Vec<_>>();
    assert_eq!(found[0].as_ref().unwrap_err().kind(), MongoErrorKind::Data);
    assert_eq!(found[1].as_ref().unwrap().id, 2);
    assert_eq!(cloths.find_by_id(1).unwrap_err().kind(), MongoErrorKind::Data);
}

#[test]
#[ignore = "needs FerretDB: cargo xtask test --only mongo"]
fn documents_are_changed_and_removed() {
    let database = TestDatabase::new("change");
    let cloths = filled(&database, 9);
    let updated = cloths.update_one(by_id(1), doc! { "$inc": { "threads": 5 } }).unwrap();
    assert_eq!((updated.matched_count, updated.modified_count), (1, 1));
    assert_eq!(cloths.find_by_id(1).unwrap().unwrap().threads, 105);
    let updated =
        cloths.update_many(doc! { "name": "cloth 0" }, set(&doc! { "threads": 1 }).unwrap()).unwrap();
    assert_eq!(updated.matched_count, 3);
    let upsert = UpdateOptions::builder().upsert(true).build();
    let updated = cloths.update_one_with(by_id(50), doc! { "$set": { "name": "new", "threads": 1 } }, upsert);
    assert_eq!(updated.unwrap().upserted_id, Some(Bson::Int32(50)));
    assert_eq!(cloths.replace_one(by_id(2), Cloth { threads: 7, ..cloth(2) }).unwrap().modified_count, 1);
    assert_eq!(cloths.find_by_id(2).unwrap().unwrap().threads, 7);
    assert!(cloths.delete_one(by_id(2)).unwrap());
    assert!(!cloths.delete_one(by_id(2)).unwrap());
    assert_eq!(cloths.delete_many(doc! { "name": "cloth 0" }).unwrap(), 3);
    assert_eq!(cloths.count(doc! {}).unwrap(), 6);
    cloths.drop().unwrap();
    assert_eq!(cloths.count(doc! {}).unwrap(), 0);
}

#[test]
#[ignore = "needs FerretDB: cargo xtask test --only mongo"]
fn what_is_found_and_changed_at_once_is_returned() {
    let database = TestDatabase::new("find_and_modify");
    let cloths = filled(&database, 5);
    let inc = doc! { "$inc": { "threads": 1 } };
    assert_eq!(cloths.find_one_and_update(by_id(1), inc.clone()).unwrap(), Some(cloth(1)));
    let after = FindOneAndUpdateOptions::builder().return_document(ReturnDocument::After).build();
    let updated = cloths.find_one_and_update_with(by_id(1), inc.clone(), after).unwrap().unwrap();
    assert_eq!(updated.threads, 102);
    assert_eq!(
        cloths.find_one_and_replace(by_id(2), Cloth { threads: 0, ..cloth(2) }).unwrap(),
        Some(cloth(2))
    );
    assert_eq!(cloths.find_one_and_delete(by_id(3)).unwrap(), Some(cloth(3)));
    assert_eq!(cloths.find_one_and_delete(by_id(3)).unwrap(), None);
    assert_eq!(cloths.find_one_and_update(by_id(99), inc).unwrap(), None);
}

#[test]
#[ignore = "needs FerretDB: cargo xtask test --only mongo"]
fn documents_are_counted_and_summed_up() {
    let database = TestDatabase::new("sums");
    let cloths = filled(&database, 10);
    assert_eq!(cloths.count(doc! { "name": "cloth 1" }).unwrap(), 3);
    assert_eq!(cloths.estimated_count().unwrap(), 10);
    let mut names = cloths.distinct::<String>("name", doc! { "threads": { "$lt": 200 } }).unwrap();
    names.sort();
    assert_eq!(names, ["cloth 0", "cloth 1"]);

    #[derive(Debug, PartialEq, Deserialize)]
    struct Sum {
        #[serde(rename = "_id")]
        name: String,
        threads: i32,
    }
    let pipeline = [
        doc! { "$group": { "_id": "$name", "threads": { "$sum": "$threads" } } },
        doc! { "$sort": { "_id": 1 } },
        doc! { "$limit": 1 },
    ];
    let sums = cloths.aggregate::<Sum>(pipeline).unwrap().collect::<Result<Vec<_>, _>>().unwrap();
    assert_eq!(sums, [Sum { name: "cloth 0".to_owned(), threads: 1_800 }]);
}

#[test]
#[ignore = "needs FerretDB: cargo xtask test --only mongo"]
fn many_writes_go_together() {
    let database = TestDatabase::new("bulk");
    let cloths = filled(&database, 3);
    let done = (10..1_510)
        .fold(cloths.bulk(), |bulk, id| bulk.insert(cloth(id)))
        .update_one(by_id(0), doc! { "$set": { "threads": 1 } })
        .update_many(doc! { "_id": { "$lt": 3 } }, doc! { "$inc": { "threads": 1 } })
        .upsert_one(by_id(5), doc! { "$set": { "name": "new", "threads": 2 } })
        .replace_one(by_id(2), cloth(2))
        .delete_one(by_id(1))
        .delete_many(doc! { "_id": { "$gte": 1_000 } })
        .run()
        .unwrap();
    assert_eq!((done.inserted, done.matched, done.deleted), (1_500, 5, 511));
    assert_eq!(done.upserted, [Bson::Int32(5)]);
    assert_eq!(cloths.find_by_id(0).unwrap().unwrap().threads, 2);
    assert_eq!(cloths.count(doc! {}).unwrap(), 3 + 1_500 + 1 - 511);
}

#[test]
#[ignore = "needs FerretDB: cargo xtask test --only mongo"]
fn a_bulk_ends_at_its_first_failure_unless_the_order_does_not_matter() {
    let database = TestDatabase::new("bulk_failure");
    let cloths = filled(&database, 1);
    let error = cloths.bulk().insert(cloth(1)).insert(cloth(0)).insert(cloth(2)).run().unwrap_err();
    assert_eq!(error.kind(), MongoErrorKind::DuplicateKey);
    assert_eq!(cloths.count(doc! {}).unwrap(), 2);
    let bulk = cloths.bulk().unordered().insert(cloth(0)).delete_one(by_id(1)).insert(cloth(3));
    assert_eq!(bulk.run().unwrap_err().kind(), MongoErrorKind::DuplicateKey);
    assert_eq!(cloths.distinct::<i32>("_id", doc! {}).unwrap(), [0, 3]);
}

#[test]
#[ignore = "needs FerretDB: cargo xtask test --only mongo"]
fn a_second_document_of_the_same_key_is_a_conflict() {
    let database = TestDatabase::new("duplicate");
    let cloths = filled(&database, 1);
    let error = cloths.insert_one(cloth(0)).unwrap_err();
    assert_eq!((error.kind(), error.kind().status().as_u16()), (MongoErrorKind::DuplicateKey, 409));
    let error = cloths.insert_many([cloth(5), cloth(0)]).unwrap_err();
    assert_eq!(error.kind(), MongoErrorKind::DuplicateKey);
    let error = cloths.find(doc! { "$nonsense": 1 }).all().unwrap_err();
    assert_eq!(error.kind().status().as_u16(), 500);
}
