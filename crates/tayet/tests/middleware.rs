//! What stands around handlers.

use std::io::{self, BufWriter, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use tayet::testing::TestClient;
use tayet::{
    AccessLog, CatchPanic, Extension, FromRequestParts, Next, Path, Problem, Request, RequestIds, Response,
    Router, StatusCode,
};

/// Far longer than anything takes that a test waits for.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn the_request_can_be_read_when_the_answer_is_there() {
    fn echo_target(request: &mut Request, next: Next<'_>) -> Response {
        let response = next.run(request);
        response.with_header("x-target", request.target().to_owned())
    }
    let client = TestClient::new(Router::new().get("/{a}", |Path(a): Path<String>| a).layer(echo_target));
    assert_eq!(client.get("/x?y").send().header("x-target"), Some("/x?y"));
}

#[test]
fn middleware_may_answer_itself_and_what_it_says_is_negotiated() {
    fn refuse(_: &mut Request, _: Next<'_>) -> Problem {
        Problem::new(StatusCode::FORBIDDEN).with_detail("not today")
    }
    let client =
        TestClient::new(Router::new().get("/", || unreachable!("not reached") as &str).layer(refuse));
    assert_eq!(client.get("/").header("Accept", "text/plain").send().text(), "403 Forbidden: not today\n");
    assert_eq!(client.get("/").send().header("content-type"), Some("application/problem+json"));
}

#[test]
fn a_problem_that_middleware_has_rewritten_is_left_alone() {
    fn page(request: &mut Request, next: Next<'_>) -> Response {
        next.run(request).with_body("our own page")
    }
    let client = TestClient::new(Router::new().layer(page));
    assert_eq!(client.get("/").header("Accept", "text/plain").send().text(), "our own page");
}

#[test]
fn extractors_work_in_middleware() {
    fn tag(request: &mut Request, next: Next<'_>) -> Result<Response, tayet::Rejection> {
        let Path(id) = Path::<u32>::from_request_parts(request, next.context())?;
        request.extensions_mut().insert(id * 2);
        Ok(next.run(request))
    }
    let router =
        Router::new().get("/{id}", |Extension(doubled): Extension<u32>| doubled.to_string()).layer(tag);
    let client = TestClient::new(router);
    assert_eq!(client.get("/21").send().text(), "42");
    assert_eq!(client.get("/x").send().status(), 400);
}

#[test]
fn a_panic_is_a_500_for_the_layers_outside() {
    fn count(request: &mut Request, next: Next<'_>) -> Response {
        next.run(request).with_header("x-outside", "1")
    }
    fn broken() -> String {
        panic!("number {}", 7)
    }
    let client = TestClient::new(Router::new().get("/", broken).layer(CatchPanic::new()).layer(count));
    let response = client.get("/").send();
    assert_eq!((response.status().as_u16(), response.header("x-outside")), (500, Some("1")));
    assert!(!response.text().contains("number 7"), "{}", response.text());
}

/// Where a log's lines go in tests.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

#[test]
fn every_answer_has_its_line() {
    fn broken() -> String {
        panic!("on purpose")
    }
    let lines = Lines::default();
    let log = AccessLog::json().to_writer(lines.clone());
    let router = Router::new().get("/a/{id}", || "four").get("/broken", broken).layer(log).layer(RequestIds);
    let client = TestClient::new(router);
    client.get("/a/1?b").header("User-Agent", "test").header("X-Request-Id", "r1").send();
    client.get("/nowhere").send();
    catch_unwind(AssertUnwindSafe(|| client.get("/broken").send())).expect_err("the panic goes on");
    drop(client);
    let lines: Vec<serde_json::Value> =
        lines.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |index: usize, name: &str| lines[index][name].to_string();
    assert_eq!(lines.len(), 3);
    assert_eq!(
        (of(0, "target"), of(0, "status"), of(0, "bytes")),
        ("\"/a/1?b\"".into(), "200".into(), "4".into())
    );
    assert_eq!((of(0, "route"), of(0, "user_agent")), ("\"GET /a/{id}\"".into(), "\"test\"".into()));
    assert_eq!(of(0, "request_id"), "\"r1\"");
    assert_eq!((of(1, "route"), of(1, "status")), ("\"fallback\"".into(), "404".into()));
    assert_eq!((of(2, "route"), of(2, "status")), ("\"GET /broken\"".into(), "500".into()));
}

#[test]
fn lines_are_flushed_while_the_application_lives() {
    struct Reader(mpsc::Sender<String>);
    impl Write for Reader {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(String::from_utf8_lossy(bytes).into_owned()).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (lines, read) = mpsc::channel();
    let log = AccessLog::common().to_writer(BufWriter::new(Reader(lines)));
    let client = TestClient::new(Router::new().get("/", || "hello").layer(log));
    for target in ["/?first", "/?second"] {
        client.get(target).send();
        let line = read.recv_timeout(PATIENCE).expect("the line was flushed");
        assert!(line.contains(target), "{line}");
    }
}
