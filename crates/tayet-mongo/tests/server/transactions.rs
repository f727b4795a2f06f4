//! Transactions, where the server has them.

use tayet_mongo::{Document, MongoErrorKind, Result, doc};

use crate::ferretdb::TestDatabase;

fn has_transactions(database: &TestDatabase) -> bool {
    let hello = database.db().command(doc! { "hello": 1 }).unwrap();
    hello.contains_key("setName") || hello.get_str("msg").is_ok_and(|message| message == "isdbgrid")
}

#[test]
#[ignore = "needs FerretDB: cargo xtask test --only mongo"]
fn all_of_a_transaction_happens_or_nothing() {
    let database = TestDatabase::new("transactions");
    let accounts = database.db().collection::<Document>("accounts");
    accounts.insert_one(doc! { "_id": 1, "cents": 5 }).unwrap();
    if !has_transactions(&database) {
        println!("SKIPPED: this server has no transactions; only that it says so is tested");
        let refused: Result<()> = database.db().transaction(|db| {
            db.collection::<Document>("accounts").insert_one(doc! { "_id": 2 })?;
            Ok(())
        });
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), MongoErrorKind::Unsupported, "{error}");
        assert_eq!(accounts.count(doc! {}).unwrap(), 1);
        return;
    }
    let failed: tayet::Result<()> = database.db().transaction(|db| {
        let accounts = db.collection::<Document>("accounts");
        accounts.insert_one(doc! { "_id": 2 })?;
        assert_eq!(accounts.find(doc! {}).all()?.len(), 2);
        Err(tayet::Error::new(tayet::StatusCode::CONFLICT, "not today"))
    });
    assert_eq!(failed.unwrap_err().status(), 409);
    assert_eq!(accounts.count(doc! {}).unwrap(), 1);
    let done: Result<i32> = database.db().transaction(|db| {
        db.collection::<Document>("accounts").insert_one(doc! { "_id": 2 })?;
        Ok(7)
    });
    assert_eq!((done.unwrap(), accounts.count(doc! {}).unwrap()), (7, 2));
}
