//! The examples answer what their own documentation says.

use crate::ferretdb::TestDatabase;
use crate::office::OfficeLocation;
use crate::transcript;

#[test]
#[ignore = "needs FerretDB: cargo xtask test --only mongo"]
fn the_example_does_what_it_shows() {
    let database = TestDatabase::new("example");
    transcript::check("40_mongodb", &[("MONGODB_URI", &database.uri)]);
}

#[test]
#[ignore = "needs FerretDB: cargo xtask test --only mongo"]
fn the_examples_of_one_document_do_what_they_show() {
    let database = TestDatabase::new("example_document");
    database.db().collection("offices").insert_one(OfficeLocation::sample()).unwrap();
    for example in ["41_mongodb_document", "42_mongodb_later"] {
        transcript::check(example, &[("MONGODB_URI", &database.uri)]);
    }
}
