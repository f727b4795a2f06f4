//! Identifiers, dates and decimals, as BSON and as JSON.

use serde::{Deserialize, Serialize};
use tayet::IntoResponse;
use tayet_mongo::bson::{self, Binary, Bson, spec::BinarySubtype};
use tayet_mongo::{Date, Decimal, ExtendedJson, Id, PlainJson, doc};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Bill {
    id: Id,
    due: Option<Date>,
    total: Decimal,
    #[serde(flatten)]
    payer: Payer,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Payer {
    Member { member: Id, since: Date },
}

const JSON: &str = concat!(
    r#"{"id":"507f1f77bcf86cd799439011","due":"2026-11-22T08:30:00Z","total":"19.90","#,
    r#""kind":"Member","member":"507f1f77bcf86cd799439012","since":"1970-01-01T00:00:00.001Z"}"#
);

fn bill() -> Bill {
    let payer = Payer::Member {
        member: "507f1f77bcf86cd799439012".parse().unwrap(),
        since: bson::DateTime::from_millis(1).into(),
    };
    Bill {
        id: "507f1f77bcf86cd799439011".parse().unwrap(),
        due: Some("2026-11-22T08:30:00Z".parse().unwrap()),
        total: "19.90".parse().unwrap(),
        payer,
    }
}

fn text(response: impl IntoResponse) -> String {
    String::from_utf8(response.into_response().body().as_bytes().unwrap().to_vec()).unwrap()
}

#[test]
fn json_has_texts() {
    assert_eq!(serde_json::to_string(&bill()).unwrap(), JSON);
    assert_eq!(serde_json::from_str::<Bill>(JSON).unwrap(), bill());
}

#[test]
fn bson_has_its_own_types_by_every_way() {
    let Bill { id, due, total, payer: Payer::Member { member, since } } = bill();
    let expected = doc! {
        "id": id.0, "due": due.unwrap().0, "total": total.0, "kind": "Member", "member": member.0, "since": since.0,
    };
    assert_eq!(bson::serialize_to_document(&bill()).unwrap(), expected);
    let bytes = bson::serialize_to_vec(&bill()).unwrap();
    assert_eq!(bson::deserialize_from_slice::<bson::Document>(&bytes).unwrap(), expected);
    assert_eq!(bson::deserialize_from_slice::<Bill>(&bytes).unwrap(), bill());
    assert_eq!(bson::deserialize_from_document::<Bill>(expected).unwrap(), bill());
}

#[test]
fn numbers_and_extended_json_are_read_too() {
    assert_eq!(serde_json::from_str::<Decimal>("5").unwrap().to_string(), "5");
    assert_eq!(serde_json::from_str::<Decimal>("2.5").unwrap().to_string(), "2.5");
    assert_eq!(serde_json::from_str::<Id>(r#"{"$oid":"507f1f77bcf86cd799439011"}"#).unwrap(), bill().id);
    for wrong in [r#"{"oid":"507f1f77bcf86cd799439011"}"#, r#"{"$oid":"507f"}"#, r#"{"$oid":7}"#, "{}"] {
        assert!(serde_json::from_str::<Id>(wrong).is_err(), "{wrong}");
    }
    let two = r#"{"$oid":"507f1f77bcf86cd799439011","$date":1}"#;
    assert!(serde_json::from_str::<Id>(two).is_err());
    for wrong in ["7", "\"x\"", "null", "{}"] {
        assert!(serde_json::from_str::<Id>(wrong).is_err(), "{wrong}");
        assert!(serde_json::from_str::<Date>(wrong).is_err(), "{wrong}");
    }
    assert!(serde_json::from_str::<Decimal>("\"x\"").is_err());
}

#[test]
fn whole_documents_are_plain_or_extended() {
    assert_eq!(text(PlainJson(bill())), JSON);
    let bytes = Binary { subtype: BinarySubtype::Generic, bytes: vec![1, 2, 3] };
    let document =
        doc! { "bytes": bytes, "nested": [{ "id": bill().id }], "long": 1_i64 << 40, "none": Bson::Null };
    let plain =
        r#"{"bytes":"AQID","nested":[{"id":"507f1f77bcf86cd799439011"}],"long":1099511627776,"none":null}"#;
    assert_eq!(text(PlainJson(document)), plain);
    let extended = text(ExtendedJson(bill()));
    assert!(
        extended.starts_with(r#"{"id":{"$oid":"507f1f77bcf86cd799439011"},"due":{"$date":"#),
        "{extended}"
    );
    assert!(extended.contains(r#""total":{"$numberDecimal":"19.90"}"#), "{extended}");
}

#[test]
fn what_is_none_is_a_400() {
    let errors = [
        tayet::Error::from("x".parse::<Id>().unwrap_err()),
        "x".parse::<Date>().unwrap_err().into(),
        "x".parse::<Decimal>().unwrap_err().into(),
    ];
    assert_eq!(errors.map(|error| error.status().as_u16()), [400; 3]);
}
