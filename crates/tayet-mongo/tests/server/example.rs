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
fn the_example_of_later_does_what_it_shows() {
    let database = TestDatabase::new("example_later");
    database.db().collection("offices").insert_one(OfficeLocation::sample()).unwrap();
    transcript::check("41_mongodb_later", &[("MONGODB_URI", &database.uri)]);
}
