//! Documents of MongoDB: a typed collection behind plain, blocking calls; pages by key, and each error with its status.
//!
//! It starts whether or not there is a server; the README says how to get one.
//!
//! ```console
//! $ cargo run --example 40_mongodb
//! $ curl http://127.0.0.1:8080/office/json
//! {"_id":"665f1c2e9b3d4a0012340007","tenantId":"665f1c2e9b3d4a0012340001",...
//! $ curl http://127.0.0.1:8080/office/json | \
//!   curl -o /dev/null -w '%{http_code}\n' -X POST -H 'Content-Type: application/json' -d @- http://127.0.0.1:8080/mongo/office
//! 201
//! $ curl http://127.0.0.1:8080/mongo/office/665f1c2e9b3d4a0012340007/html
//! <!DOCTYPE html>...<h1>Zürich &quot;Loom &amp; Shuttle&quot; &lt;HQ&gt;</h1>...
//! $ curl 'http://127.0.0.1:8080/mongo/office?limit=1'
//! {"items":[{"_id":"665f1c2e9b3d4a0012340007",...
//! $ curl -w ' %{http_code}\n' http://127.0.0.1:8080/mongo/office/nonsense
//! ... 400
//! $ curl -o /dev/null -w '%{http_code}\n' -X DELETE http://127.0.0.1:8080/mongo/office/665f1c2e9b3d4a0012340007
//! 204
//! $ curl -w ' %{http_code}\n' http://127.0.0.1:8080/mongo/office/665f1c2e9b3d4a0012340007
//! ... 404
//! ```

#[path = "40_mongodb/offices.rs"]
mod offices;

use std::env;

use tayet::Server;
use tayet_mongo::Mongo;

fn main() -> tayet::Result {
    tracing_subscriber::fmt().init();
    let port = env::var("PORT").unwrap_or("8080".to_owned());
    let uri = env::var("MONGODB_URI").unwrap_or("mongodb://127.0.0.1:27017/office".to_owned());
    println!("http://127.0.0.1:{port}/mongo/office");
    let app = offices::router(Mongo::new(&uri)?).get("/", || "Hello, World!");
    Server::new(app).bind(format!("127.0.0.1:{port}"))?.run()
}
