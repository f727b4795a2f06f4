//! Queries that handlers return.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde::{Deserialize, Serialize};
use tayet::metrics::Metrics;
use tayet::testing::TestClient;
use tayet::{Compression, Cors, ExecutionModel, Json, Path, Query, Router, Server, get};
use tayet_mongo::{Collection, Db, Id, Later, Mongo, MongoErrorKind, Page, PageQuery, by_id, doc, set};

use crate::ferretdb::TestDatabase;

/// Many times this is worth compressing.
const NAME: &str =
    "linen, or what was called so before anybody had looked at it through a glass, and found it to be cotton";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Cloth {
    #[serde(rename = "_id", default = "Id::new")]
    id: Id,
    name: String,
}

fn cloth() -> Cloth {
    Cloth { id: Id::new(), name: NAME.repeat(20) }
}

fn cloths(db: &Db) -> Collection<Cloth> {
    db.collection("cloths")
}

fn one(db: Db, Path(id): Path<Id>) -> Later<Json<Cloth>> {
    cloths(&db).later().find_by_id(id).or_404().json()
}

fn add(db: Db, Json(cloth): Json<Cloth>) -> Later<Json<Cloth>> {
    cloths(&db).later().insert_one(&cloth).map(|_| Json(cloth))
}

fn rename(db: Db, Path((id, name)): Path<(Id, String)>) -> Later<String> {
    cloths(&db)
        .later()
        .update_one(by_id(id), doc! { "$set": { "name": name } })
        .map(|done| done.modified_count.to_string())
}

fn remove(db: Db, Path(id): Path<Id>) -> Later<Json<bool>> {
    cloths(&db).later().delete_one(by_id(id)).json()
}

fn count(db: Db) -> Later<String> {
    cloths(&db).later().count(doc! {}).map(|count| count.to_string())
}

fn page(db: Db, Query(page): Query<PageQuery>) -> Later<Json<Page<Cloth>>> {
    cloths(&db).later().page(doc! {}, page).run().json()
}

fn router(mongo: Mongo) -> Router {
    Router::new()
        .route("/cloths", get(page).post(add))
        .route("/cloths/{id}", get(one).delete(remove))
        .put("/cloths/{id}/{name}", rename)
        .get("/count", count)
        .with_state(mongo)
}

fn ask(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "{request}Connection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

fn get_of(address: &str, path: &str) -> String {
    ask(address, &format!("GET {path} HTTP/1.1\r\nHost: x\r\n"))
}

#[test]
#[ignore = "needs FerretDB: cargo xtask test --only mongo"]
fn they_are_answered_under_each_execution_model() {
    let database = TestDatabase::new("later_serving");
    let there = cloth();
    cloths(&database.db()).insert_one(&there).unwrap();
    for execution in
        [ExecutionModel::default(), ExecutionModel::ThreadPool { threads: 4 }, ExecutionModel::Inline]
    {
        let metrics = Metrics::new();
        let mongo = Mongo::new(&database.uri).unwrap().metrics(&metrics);
        let app = router(mongo)
            .layer(Compression::new())
            .layer(Cors::new().allow_any_origin())
            .get("/metrics", metrics);
        let server = Server::new(app).bind("127.0.0.1:0").unwrap().execution(execution).start().unwrap();
        let address = server.addresses()[0].to_string();
        let path = format!("/cloths/{}", there.id);
        let answer = get_of(&address, &path);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{execution}: {answer}");
        assert_eq!(serde_json::from_str::<Cloth>(body).unwrap(), there);
        let compressed =
            ask(&address, &format!("GET {path} HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n"));
        assert!(compressed.contains("content-encoding: gzip\r\n"), "{execution}: {compressed}");
        let foreign = ask(&address, &format!("GET {path} HTTP/1.1\r\nHost: x\r\nOrigin: http://y\r\n"));
        assert!(foreign.contains("access-control-allow-origin: *\r\n"), "{execution}: {foreign}");
        assert!(get_of(&address, &format!("/cloths/{}", Id::new())).starts_with("HTTP/1.1 404"));
        assert!(get_of(&address, "/cloths/x").starts_with("HTTP/1.1 400"));
        assert!(get_of(&address, "/cloths?after=x").starts_with("HTTP/1.1 400"));
        let figures = get_of(&address, "/metrics");
        assert!(figures.contains(r#"mongo_query_duration_seconds_count{operation="find"} 4"#), "{figures}");
        assert!(figures.contains("mongo_queries_under_way 0\n"), "{figures}");
        server.shutdown();
        server.join();
    }
}

#[test]
#[ignore = "needs FerretDB: cargo xtask test --only mongo"]
fn they_do_what_their_waiting_twins_do() {
    let database = TestDatabase::new("later_operations");
    let client = TestClient::new(router(database.mongo.clone()));
    let json = serde_json::to_string(&cloth()).unwrap();
    let added = client.post("/cloths").json(json.clone()).send();
    assert_eq!((added.status().as_u16(), added.text()), (200, json.as_str()));
    assert_eq!(client.post("/cloths").json(json.clone()).send().status(), 409);
    let added = serde_json::from_str::<Cloth>(&json).unwrap();
    assert_eq!(client.get("/count").send().text(), "1");
    assert_eq!(client.put(&format!("/cloths/{}/wool", added.id)).send().text(), "1");
    let page = client.get("/cloths?limit=1").send();
    assert_eq!(page.text(), format!(r#"{{"items":[{{"_id":"{}","name":"wool"}}],"next":null}}"#, added.id));
    assert_eq!(client.delete(&format!("/cloths/{}", added.id)).send().text(), "true");
    assert_eq!(client.delete(&format!("/cloths/{}", added.id)).send().text(), "false");
    assert_eq!(client.get(&format!("/cloths/{}", added.id)).send().status(), 404);
}

#[test]
#[ignore = "needs FerretDB: cargo xtask test --only mongo"]
fn what_else_a_collection_can_do_can_be_returned_too() {
    let database = TestDatabase::new("later_others");
    let cloths = cloths(&database.db());
    let later = cloths.later();
    let (first, second) = (cloth(), Cloth { name: "silk".to_owned(), ..cloth() });
    assert_eq!(later.insert_many([&first, &second]).wait().unwrap(), [first.id.into(), second.id.into()]);
    assert_eq!(
        later.find(doc! {}).sort(doc! { "name": -1 }).all().wait().unwrap(),
        [second.clone(), first.clone()]
    );
    assert_eq!(later.distinct::<String>("name", doc! {}).wait().unwrap().len(), 2);
    let renamed = Cloth { name: "satin".to_owned(), ..second.clone() };
    assert_eq!(later.find_one_and_replace(by_id(second.id), &renamed).wait().unwrap(), Some(second.clone()));
    assert_eq!(
        later.find_one_and_update(by_id(second.id), set(&second).unwrap()).wait().unwrap(),
        Some(renamed)
    );
    assert_eq!(later.replace_one(by_id(second.id), &second).wait().unwrap().matched_count, 1);
    assert_eq!(later.find_one_and_delete(by_id(first.id)).wait().unwrap(), Some(first));
    assert_eq!(later.delete_many(doc! {}).wait().unwrap(), 1);
    // Nothing is asked before it is returned, or waited for.
    drop(later.insert_one(&second));
    assert_eq!(cloths.count(doc! {}).unwrap(), 0);
}

#[test]
#[ignore = "needs FerretDB: cargo xtask test --only mongo"]
fn what_is_found_and_is_no_such_document_is_an_error() {
    let database = TestDatabase::new("later_data");
    cloths(&database.db()).insert_one(cloth()).unwrap();
    let numbers = cloths(&database.db()).of::<u32>();
    let error = numbers.later().find_one(doc! {}).wait().unwrap_err();
    assert_eq!(error.status(), 500);
    assert_eq!(numbers.find_one(doc! {}).unwrap_err().kind(), MongoErrorKind::Data);
}

#[test]
#[ignore = "needs FerretDB: cargo xtask test --only mongo"]
fn what_panics_over_the_result_is_a_500_and_hurts_nobody_else() {
    fn panicking(db: Db) -> Later<String> {
        // Unwinds without the message that a panic prints.
        cloths(&db).later().count(doc! {}).map(|_| std::panic::resume_unwind(Box::new("as asked")))
    }
    let database = TestDatabase::new("later_panics");
    let app = Router::new().get("/panicking", panicking).get("/count", count);
    let app = app.with_state(database.mongo.clone());
    let server = Server::new(app).bind("127.0.0.1:0").unwrap().start().unwrap();
    let address = server.addresses()[0].to_string();
    for _ in 0..3 {
        assert!(get_of(&address, "/panicking").starts_with("HTTP/1.1 500"));
        assert!(get_of(&address, "/count").starts_with("HTTP/1.1 200"));
    }
    server.shutdown();
    server.join();
}
