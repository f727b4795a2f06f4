//! The example answers what its own documentation says.

use crate::ferretdb::TestDatabase;
use crate::transcript;

#[test]
#[ignore = "needs FerretDB: cargo xtask test --only mongo"]
fn the_example_does_what_it_shows() {
    let database = TestDatabase::new("example");
    transcript::check("40_mongodb", &[("MONGODB_URI", &database.uri)]);
}
