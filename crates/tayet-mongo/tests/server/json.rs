//! BSON's types in the database.

use serde::{Deserialize, Serialize};
use tayet_mongo::{Bson, Date, Document, Id, doc};

use crate::ferretdb::TestDatabase;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Order {
    #[serde(rename = "_id")]
    id: Id,
    placed: Option<Date>,
    lines: Vec<Id>,
    #[serde(flatten)]
    rest: Rest,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Rest {
    paid: Date,
}

#[test]
#[ignore = "needs FerretDB: cargo xtask test --only mongo"]
fn identifiers_and_dates_are_stored_as_what_they_are() {
    let database = TestDatabase::new("types");
    let orders = database.db().collection::<Order>("orders");
    let paid = "2026-11-22T08:30:00.125Z".parse::<Date>().unwrap();
    let order = Order { id: Id::new(), placed: Some(paid), lines: vec![Id::new()], rest: Rest { paid } };
    assert_eq!(orders.insert_one(&order).unwrap(), Bson::ObjectId(order.id.0));
    assert_eq!(orders.find_by_id(order.id).unwrap().as_ref(), Some(&order));
    let raw = orders.of::<Document>().find_by_id(order.id).unwrap().unwrap();
    let stored = doc! { "_id": order.id.0, "placed": paid.0, "lines": [order.lines[0].0], "paid": paid.0 };
    assert_eq!(raw, stored);
    let json = serde_json::to_value(&order).unwrap();
    assert_eq!(json["paid"], "2026-11-22T08:30:00.125Z");
    assert_eq!(json["lines"][0], order.lines[0].to_string());
    assert_eq!(serde_json::from_value::<Order>(json).unwrap(), order);
}
