//! Before the first query there is no thread and no connection.

use std::net::TcpListener;

use tayet_mongo::{Mongo, MongoConfig, doc};

fn threads_of_the_driver() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let name =
        |task: std::io::Result<std::fs::DirEntry>| std::fs::read_to_string(task.unwrap().path().join("comm"));
    tasks.map(name).filter(|name| name.as_ref().is_ok_and(|name| name.trim() == "tayet-mongo")).count()
}

#[test]
fn the_first_query_starts_the_one_thread_and_connects() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let config = MongoConfig { server_selection_timeout_ms: 50, ..MongoConfig::default() };
    let mongo = Mongo::with_config(format!("mongodb://{}", server.local_addr().unwrap()), config).unwrap();
    let cloths = mongo.db().collection::<tayet_mongo::Document>("cloths");
    assert_eq!(threads_of_the_driver(), 0);
    assert!(server.accept().is_err(), "nobody has connected");
    assert!(cloths.count(doc! {}).is_err(), "it does not answer");
    assert_eq!(threads_of_the_driver(), 1);
    assert!(server.accept().is_ok());
}
