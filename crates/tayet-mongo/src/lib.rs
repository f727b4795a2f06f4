//! MongoDB collections for handlers that block.
//!
//! A [`Mongo`] is kept in the router's state; handlers take a [`Db`] and ask its [`Collection`]s with plain calls, which return
//! when the server has answered.
//!
//! ```no_run
//! use serde::{Deserialize, Serialize};
//! use tayet::{Json, Path, Query, Router, Server, StatusCode};
//! use tayet_mongo::{Collection, Date, Db, Id, Index, Mongo, Or404, Page, PageQuery, doc};
//!
//! #[derive(Serialize, Deserialize)]
//! struct User {
//!     #[serde(rename = "_id", default = "Id::new")]
//!     id: Id,
//!     name: String,
//!     #[serde(default = "Date::now")]
//!     since: Date,
//! }
//!
//! fn users(db: &Db) -> Collection<User> {
//!     db.collection("users")
//! }
//!
//! fn list(db: Db, Query(page): Query<PageQuery>) -> tayet::Result<Json<Page<User>>> {
//!     Ok(Json(users(&db).page(doc! {}, page).by("name").run()?))
//! }
//!
//! fn one(db: Db, Path(id): Path<Id>) -> tayet::Result<Json<User>> {
//!     Ok(Json(users(&db).find_by_id(id)?.or_404()?))
//! }
//!
//! fn add(db: Db, Json(user): Json<User>) -> tayet::Result<(StatusCode, Json<User>)> {
//!     users(&db).insert_one(&user)?; // A second one of this name is a 409.
//!     Ok((StatusCode::CREATED, Json(user)))
//! }
//!
//! fn main() -> tayet::Result {
//!     let mongo = Mongo::new("mongodb://127.0.0.1:27017/shop")?
//!         .index("users", Index::on(doc! { "name": 1 }).unique());
//!     let app = Router::new().get("/users", list).post("/users", add).get("/users/{id}", one).with_state(mongo);
//!     Server::new(app).bind("127.0.0.1:8080")?.run()
//! }
//! ```
//!
//! # Waiting
//!
//! A query blocks its handler, which is what Tayet is made for: a route that waits for the database is soon handed to the pool,
//! and the pool has as many threads as there are queries under way. Connections follow ([`MongoConfig::max_connections`]): they
//! are made as they are needed, and closed one by one as they idle.
//!
//! No query waits longer than its request's deadline ([`tayet::Request::time_left`]), which the server is told as well
//! (`maxTimeMS`, where the command has it), or [`MongoConfig::query_timeout_ms`]. When the client goes, nobody waits for the
//! answer any longer.
//!
//! # Not waiting
//!
//! A handler whose last act is a query may return it ([`Collection::later`], [`Later`]): no thread waits, and the answer is sent
//! when it is there. Use it for routes that fetch or store one thing and are asked for often; wait wherever something else
//! follows, which is most code.
//!
//! ```no_run
//! # use serde::{Deserialize, Serialize};
//! # use tayet::{Json, Path};
//! # use tayet_mongo::{Db, Id, Later};
//! # #[derive(Serialize, Deserialize)]
//! # struct User {}
//! fn one(db: Db, Path(id): Path<Id>) -> Later<Json<User>> {
//!     db.collection::<User>("users").later().find_by_id(id).or_404().json()
//! }
//! ```
//!
//! # A server that is slow or gone
//!
//! No more queries are under way than there are connections, and [`MongoConfig::max_waiting_queries`] beyond
//! ([`MongoConfig::max_returned_queries`], where they are returned); others get a 503 at once. A server that fails is left alone for a while ([`BreakerConfig`]), and then probed: its clients get a 503 with
//! `Retry-After` at once, in place of one after a time-out.
//!
//! # JSON
//!
//! [`Id`], [`Date`] and [`Decimal`] are what their names say in the database, and plain texts in JSON. [`PlainJson`] does the
//! same for whole documents, [`ExtendedJson`] the opposite.
//!
//! # The driver
//!
//! Under it is the official driver, re-exported as [`mongodb`]. It runs on one thread, which the first query starts.

#[macro_use]
mod session;

mod admission;
mod breaker;
mod bulk;
mod call;
mod collection;
mod config;
mod cursor;
mod db;
mod driver;
mod error;
mod find;
mod indexes;
mod json;
mod later;
mod mode;
mod mongo;
mod or_404;
mod page;
mod statements;
mod stats;
mod transaction;

pub use mongodb;
pub use mongodb::bson::{self, Bson, Document, doc};

pub use breaker::BreakerConfig;
pub use bulk::{Bulk, BulkResult, MAX_BULK_MESSAGE_BYTES, MAX_BULK_MESSAGE_WRITES};
pub use collection::Collection;
pub use config::{MAX_FOLLOWING_CONNECTIONS, MongoConfig};
pub use cursor::Cursor;
pub use db::Db;
pub use error::{MongoError, MongoErrorKind, Result};
pub use find::Find;
pub use indexes::Index;
pub use json::{Date, Decimal, ExtendedJson, Id, InvalidDate, InvalidDecimal, InvalidId, PlainJson};
pub use later::Later;
pub use mode::{Mode, Returning, Waiting};
pub use mongo::Mongo;
pub use or_404::Or404;
pub use page::{DEFAULT_PAGE_ITEMS, MAX_PAGE_ITEMS, Page, PageQuery, Paged};
pub use statements::{by_id, set};
pub use transaction::MAX_TRANSACTION_ATTEMPTS;
