//! Handlers that query, under each execution model.

use std::io::{Read, Write};
use std::net::TcpStream;

use tayet::metrics::Metrics;
use tayet::{ExecutionModel, Router, Server};
use tayet_mongo::{Db, Document, Id, Or404, PlainJson, doc};

use crate::ferretdb::TestDatabase;

fn one(db: Db, tayet::Path(id): tayet::Path<Id>) -> tayet::Result<PlainJson<Document>> {
    Ok(PlainJson(db.collection::<Document>("cloths").find_by_id(id)?.or_404()?))
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
#[ignore = "needs FerretDB: cargo xtask test --only mongo"]
fn queries_are_answered_under_each_execution_model() {
    let database = TestDatabase::new("serving");
    let id = Id::new();
    database.db().collection::<Document>("cloths").insert_one(doc! { "_id": id, "name": "linen" }).unwrap();
    for execution in
        [ExecutionModel::default(), ExecutionModel::ThreadPool { threads: 4 }, ExecutionModel::Inline]
    {
        let metrics = Metrics::new();
        let mongo = tayet_mongo::Mongo::new(&database.uri).unwrap().metrics(&metrics);
        let app = Router::new().get("/cloths/{id}", one).get("/metrics", metrics).with_state(mongo);
        let server = Server::new(app).bind("127.0.0.1:0").unwrap().execution(execution).start().unwrap();
        let address = server.addresses()[0].to_string();
        let clients = (0..8).map(|_| {
            let address = address.clone();
            std::thread::spawn(move || {
                (0..20).map(|_| get(&address, &format!("/cloths/{id}"))).collect::<Vec<_>>()
            })
        });
        for answers in clients.collect::<Vec<_>>() {
            for answer in answers.join().unwrap() {
                let (head, body) = answer.split_once("\r\n\r\n").unwrap();
                assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
                assert_eq!(body, format!(r#"{{"_id":"{id}","name":"linen"}}"#), "{execution}");
            }
        }
        assert!(get(&address, &format!("/cloths/{}", Id::new())).starts_with("HTTP/1.1 404"), "{execution}");
        assert!(get(&address, "/cloths/x").starts_with("HTTP/1.1 400"), "{execution}");
        let figures = get(&address, "/metrics");
        assert!(figures.contains(r#"mongo_query_duration_seconds_count{operation="find"} 161"#), "{figures}");
        assert!(figures.contains("mongo_queries_under_way 0\n"), "{figures}");
        assert!(figures.contains("mongo_breaker_open 0\n"), "{figures}");
        server.shutdown();
        server.join();
    }
}
