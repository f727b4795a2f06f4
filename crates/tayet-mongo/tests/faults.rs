//! Servers that are not there, or do not answer, and clients that go.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use tayet::metrics::Metrics;
use tayet::testing::TestClient;
use tayet::{ExecutionModel, Handler, Limits, Router, Server, ServerHandle};
use tayet_mongo::{BreakerConfig, Db, Document, Later, Mongo, MongoConfig, MongoErrorKind, doc};

/// A server that takes connections, and says nothing.
fn silent_server() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let uri = format!("mongodb://{}", listener.local_addr().unwrap());
    (listener, uri)
}

/// Where nobody listens.
fn nowhere() -> String {
    silent_server().1
}

/// The server is found to be missing at once; a silent one never is.
fn config() -> MongoConfig {
    let breaker = BreakerConfig {
        failures_to_open: 3,
        open_ms: 60_000,
        max_open_ms: 60_000,
        ..BreakerConfig::default()
    };
    MongoConfig { server_selection_timeout_ms: 50, breaker, ..MongoConfig::default() }
}

fn patient() -> MongoConfig {
    MongoConfig { server_selection_timeout_ms: 600_000, query_timeout_ms: 600_000, ..config() }
}

fn count(db: Db) -> tayet::Result<String> {
    Ok(db.collection::<Document>("cloths").count(doc! {})?.to_string())
}

fn count_later(db: Db) -> Later<String> {
    db.collection::<Document>("cloths").later().count(doc! {}).map(|count| count.to_string())
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what} never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

struct Served {
    server: ServerHandle,
    _silent: TcpListener,
}

impl Served {
    fn start(config: MongoConfig, execution: ExecutionModel) -> Self {
        let (silent, uri) = silent_server();
        let metrics = Metrics::new();
        let mongo = Mongo::with_config(uri, config).unwrap().metrics(&metrics);
        let app = Router::new()
            .get("/count", count)
            .get("/later", count_later)
            .get("/later/hurried", Handler::<_, Mongo>::timeout(count_later, Duration::from_millis(100)))
            .get("/hurried", Handler::<_, Mongo>::timeout(count, Duration::from_millis(100)))
            .get("/hello", || "hello")
            .get("/metrics", metrics)
            .with_state(mongo);
        let limits = Limits { shutdown_deadline_ms: 200, ..Limits::default() };
        let server =
            Server::new(app).bind("127.0.0.1:0").unwrap().loops(1).execution(execution).limits(limits);
        Self { server: server.start().unwrap(), _silent: silent }
    }

    fn ask(&self, path: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.server.addresses()[0].to_string()).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        stream
    }

    fn get(&self, path: &str) -> String {
        let mut answer = String::new();
        self.ask(path).read_to_string(&mut answer).unwrap();
        answer
    }

    fn figure(&self, name: &str) -> f64 {
        let figures = self.get("/metrics");
        let value = figures.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.unwrap_or_else(|| panic!("{name} is not among {figures}")).parse().unwrap()
    }

    fn has_figure(&self, line: &str) -> bool {
        self.get("/metrics").lines().any(|found| found == line)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.server.shutdown();
        self.server.join();
    }
}

#[test]
fn a_server_that_is_not_there_is_a_503_and_soon_left_alone() {
    let mongo = Mongo::with_config(nowhere(), config()).unwrap();
    let client = TestClient::new(Router::new().get("/count", count).with_state(mongo.clone()));
    for _ in 0..3 {
        let response = client.get("/count").send();
        assert_eq!((response.status().as_u16(), response.header("retry-after")), (503, Some("1")));
        assert!(response.text().contains("the database is not there at the moment"), "{}", response.text());
    }
    let response = client.get("/count").send();
    assert_eq!((response.status().as_u16(), response.header("retry-after")), (503, Some("60")));
    let error = mongo.ping().unwrap_err();
    assert!(error.to_string().contains("left alone"), "{error}");
}

#[test]
fn a_query_ends_with_its_deadline() {
    let (_silent, uri) = silent_server();
    let mongo = Mongo::with_config(&uri, patient()).unwrap();
    let db = mongo.db().with_deadline(Instant::now() + Duration::from_millis(50));
    let cloths = db.collection::<Document>("cloths");
    assert_eq!(cloths.count(doc! {}).unwrap_err().kind(), MongoErrorKind::TimedOut);
    // It is over, so nothing is asked any more.
    assert_eq!(cloths.count(doc! {}).unwrap_err().kind(), MongoErrorKind::TimedOut);
    let hasty = MongoConfig { query_timeout_ms: 50, ..patient() };
    let error = Mongo::with_config(&uri, hasty).unwrap().ping().unwrap_err();
    assert_eq!(error.kind(), MongoErrorKind::TimedOut);
}

#[test]
fn a_silent_server_is_left_alone_too() {
    let (_silent, uri) = silent_server();
    let breaker = BreakerConfig { unanswered_after_ms: 20, ..config().breaker };
    let mongo = Mongo::with_config(uri, MongoConfig { query_timeout_ms: 50, breaker, ..patient() }).unwrap();
    (0..3).for_each(|_| assert_eq!(mongo.ping().unwrap_err().kind(), MongoErrorKind::TimedOut));
    assert_eq!(mongo.ping().unwrap_err().kind(), MongoErrorKind::Unavailable);
}

#[test]
fn a_silent_server_does_not_gather_queries() {
    let (_silent, uri) = silent_server();
    let config =
        MongoConfig { max_connections: Some(2), max_waiting_queries: 3, query_timeout_ms: 10, ..patient() };
    let mongo = Mongo::with_config(uri, config).unwrap();
    // Nobody waits for them any longer, but the driver still does.
    (0..5).for_each(|_| assert_eq!(mongo.ping().unwrap_err().kind(), MongoErrorKind::TimedOut));
    assert_eq!(mongo.ping().unwrap_err().kind(), MongoErrorKind::Busy);
}

#[test]
fn a_query_that_waits_keeps_nobody_from_being_answered() {
    for execution in [ExecutionModel::default(), ExecutionModel::ThreadPool { threads: 2 }] {
        let served = Served::start(patient(), execution);
        let waiting = served.ask("/count");
        wait_until("the query", || served.has_figure("mongo_queries_under_way 1"));
        (0..20).for_each(|_| assert!(served.get("/hello").ends_with("hello"), "{execution}"));
        drop(waiting);
    }
}

#[test]
fn a_client_that_goes_frees_its_handler() {
    let served = Served::start(patient(), ExecutionModel::default());
    let waiting = served.ask("/count");
    wait_until("the query", || served.has_figure("mongo_queries_under_way 1"));
    drop(waiting);
    wait_until("its end", || served.has_figure(r#"mongo_query_errors_total{kind="client_gone"} 1"#));
    wait_until("the thread", || served.has_figure("tayet_threads_busy 0"));
}

#[test]
fn a_routes_time_out_is_its_queries() {
    let served = Served::start(patient(), ExecutionModel::default());
    assert!(served.get("/hurried").starts_with("HTTP/1.1 503"));
    wait_until("its end", || served.has_figure(r#"mongo_query_errors_total{kind="timed_out"} 1"#));
}

#[test]
fn a_query_that_is_returned_keeps_no_thread() {
    let served = Served::start(patient(), ExecutionModel::ThreadPool { threads: 2 });
    let waiting = (0..50).map(|_| served.ask("/later")).collect::<Vec<_>>();
    wait_until("the queries", || served.has_figure("mongo_queries_under_way 50"));
    assert!(served.get("/hello").ends_with("hello"));
    drop(waiting);
}

#[test]
fn a_query_that_is_returned_ends_with_its_time() {
    let hasty = MongoConfig { query_timeout_ms: 50, ..patient() };
    let served = Served::start(hasty, ExecutionModel::default());
    let answer = served.get("/later");
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("retry-after: 1\r\n"), "{answer}");
    assert!(answer.contains("the database did not answer in time"), "{answer}");
    assert!(served.has_figure(r#"mongo_query_errors_total{kind="timed_out"} 1"#));
    let served = Served::start(patient(), ExecutionModel::default());
    assert!(served.get("/later/hurried").starts_with("HTTP/1.1 503"));
    wait_until("its end", || served.has_figure(r#"mongo_query_errors_total{kind="timed_out"} 1"#));
}

#[test]
fn more_queries_may_wait_that_are_returned() {
    let config = MongoConfig {
        max_connections: Some(2),
        max_waiting_queries: 1,
        max_returned_queries: 6,
        ..patient()
    };
    let served = Served::start(config, ExecutionModel::default());
    let waiting = (0..8).map(|_| served.ask("/later")).collect::<Vec<_>>();
    wait_until("the queries", || served.has_figure("mongo_queries_under_way 8"));
    for path in ["/later", "/count"] {
        let answer = served.get(path);
        assert!(answer.contains("too many queries wait for the database"), "{answer}");
    }
    assert_eq!(served.figure("mongo_queries_under_way"), 8.0);
    drop(waiting);
}

#[test]
fn one_that_is_not_returned_after_all_leaves_no_trace() {
    let (_silent, uri) = silent_server();
    let config =
        MongoConfig { max_connections: Some(1), max_returned_queries: 0, query_timeout_ms: 50, ..patient() };
    let mongo = Mongo::with_config(uri, config).unwrap();
    let cloths = mongo.db().collection::<Document>("cloths").later();
    let failure = || cloths.count(doc! {}).wait().unwrap_err().to_string();
    let first = cloths.count(doc! {});
    assert!(failure().contains("too many queries wait for the database"));
    drop(first);
    assert!(failure().contains("the database did not answer in time"));
}

#[test]
fn a_query_of_a_server_that_is_gone_is_a_503() {
    let app = Router::new().get("/later", count_later);
    let mongo = Mongo::with_config(nowhere(), config()).unwrap();
    let server = Server::new(app.with_state(mongo)).bind("127.0.0.1:0").unwrap().start().unwrap();
    let served = Served { server, _silent: silent_server().0 };
    for words in [["the database is not there at the moment"; 3].as_slice(), &["retry-after: 60"]].concat() {
        let answer = served.get("/later");
        assert!(answer.starts_with("HTTP/1.1 503") && answer.contains(words), "{answer}");
    }
}
