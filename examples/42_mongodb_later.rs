//! A query that its handler returns: nobody waits for it, so that many of them take no thread.
//!
//! The document is the one that the example `40_mongodb` adds.
//!
//! ```console
//! $ cargo run --example 42_mongodb_later
//! $ curl http://127.0.0.1:8080/mongo/office/665f1c2e9b3d4a0012340007
//! {"_id":"665f1c2e9b3d4a0012340007","tenantId":"665f1c2e9b3d4a0012340001",...
//! $ curl -w ' %{http_code}\n' http://127.0.0.1:8080/mongo/office/665f1c2e9b3d4a0012340008
//! ... 404
//! ```

#[path = "40_mongodb/office.rs"]
mod office;

use std::env;
use std::sync::LazyLock;

use office::OfficeLocation;
use tayet::{Json, Path, Router, Server};
use tayet_mongo::{Db, Id, Later, Mongo};

/// An office that is in no database.
fn constant() -> Json<&'static OfficeLocation> {
    static SAMPLE: LazyLock<OfficeLocation> = LazyLock::new(OfficeLocation::sample);
    Json(&SAMPLE)
}

fn one(db: Db, Path(id): Path<Id>) -> Later<Json<OfficeLocation>> {
    db.collection("offices").later().find_by_id(id).or_404().json()
}

fn main() -> tayet::Result {
    let port = env::var("PORT").unwrap_or("8080".to_owned());
    let uri = env::var("MONGODB_URI").unwrap_or("mongodb://127.0.0.1:27017/office".to_owned());
    println!("http://127.0.0.1:{port}/mongo/office");
    let app = Router::new()
        .get("/office/json", constant)
        .get("/mongo/office/{id}", one)
        .with_state(Mongo::new(&uri)?)
        .get("/", || "Hello, World!");
    Server::new(app).bind(format!("127.0.0.1:{port}"))?.run()
}
