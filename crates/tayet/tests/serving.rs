//! A router behind a real server and real sockets.

use std::cell::RefCell;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use tayet::metrics::Metrics;
use tayet::{
    AccessLog, Body, BodyStream, Compression, Cors, DefaultHeaders, ExecutionModel, Handler, HeaderValue,
    IntoResponse, Limits, Middleware, Next, RemoteAddr, Request, RequestIds, Response, Router, Server,
    ServerHandle, ServerTiming, State, StatusCode, Turn, get as get_route, health,
};

/// Starts a server at a free port.
fn start(router: Router, execution: ExecutionModel) -> ServerHandle {
    Server::new(router).bind("127.0.0.1:0").unwrap().loops(1).execution(execution).start().unwrap()
}

fn connect(server: &ServerHandle) -> TcpStream {
    let socket = TcpStream::connect(server.addresses()[0].to_string()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket
}

/// Sends a request and reads to the connection's end.
fn exchange(server: &ServerHandle, request: &str) -> String {
    let mut socket = connect(server);
    socket.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    text
}

fn get(server: &ServerHandle, target: &str) -> String {
    exchange(server, &format!("GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
}

fn body(response: &str) -> &str {
    response.split_once("\r\n\r\n").expect("a head").1
}

fn stop(server: ServerHandle) {
    server.shutdown();
    server.join();
}

#[test]
fn the_same_router_serves_in_every_model() {
    for execution in
        [ExecutionModel::default(), ExecutionModel::ThreadPool { threads: 2 }, ExecutionModel::Inline]
    {
        let router = Router::new()
            .get("/", || "Hello, World!")
            .get("/users/{id}", |tayet::Path(id): tayet::Path<u32>| format!("user {id}"))
            .post("/sum", |tayet::Json(list): tayet::Json<Vec<u32>>| list.iter().sum::<u32>().to_string())
            .get("/remote", |RemoteAddr(remote): RemoteAddr| remote.ip().unwrap().ip().to_string())
            .get("/panic", || -> &str { panic!("on purpose") });
        let server = start(router, execution);
        assert_eq!(body(&get(&server, "/")), "Hello, World!");
        assert_eq!(body(&get(&server, "/users/7")), "user 7");
        assert_eq!(body(&get(&server, "/remote")), "127.0.0.1");
        assert!(get(&server, "/users/x").starts_with("HTTP/1.1 400 "));
        assert!(get(&server, "/nowhere").starts_with("HTTP/1.1 404 "));
        assert!(get(&server, "/panic").starts_with("HTTP/1.1 500 "));
        let post = "POST /sum HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n\
                    Content-Length: 7\r\n\r\n[1,2,3]";
        assert_eq!(body(&exchange(&server, post)), "6");
        let head = exchange(&server, "HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        assert!(head.contains("content-length: 13\r\n") && body(&head).is_empty(), "{head}");
        let options = exchange(&server, "OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        assert!(options.contains("allow: GET, HEAD, POST, OPTIONS\r\n"), "{options}");
        stop(server);
    }
}

#[test]
fn bodies_are_limited_streamed_and_written() {
    fn count(mut body: BodyStream) -> tayet::Result<String> {
        Ok(std::io::copy(&mut body, &mut std::io::sink())?.to_string())
    }
    fn lines() -> Response {
        Response::new(Body::from_writer(|out| (0..3).try_for_each(|n| writeln!(out, "{n}"))))
    }
    let router = Router::new()
        .post("/small", (|body: String| body).max_body_bytes(4))
        .post("/count", count)
        .get("/lines", lines);
    let server = start(router, ExecutionModel::default());
    let post = |path: &str, body: &str| {
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
        );
        exchange(&server, &(head + body))
    };
    assert_eq!(body(&post("/small", "1234")), "1234");
    assert!(post("/small", "12345").starts_with("HTTP/1.1 413 "));
    assert_eq!(body(&post("/count", &"x".repeat(3_000_000))), "3000000");
    let lines = get(&server, "/lines");
    assert!(lines.contains("transfer-encoding: chunked") && body(&lines).contains("0\n1\n2\n"), "{lines}");
    stop(server);
}

#[test]
fn answers_may_come_later_or_too_late() {
    fn later(request: &mut Request) -> Response {
        let responder = request.defer();
        thread::spawn(move || responder.respond(Response::new("later")));
        Response::default()
    }
    fn never(State(gate): State<Arc<Mutex<mpsc::Receiver<()>>>>) -> &'static str {
        let _ = gate.lock().unwrap().recv();
        "too late"
    }
    let (open, gate) = mpsc::channel();
    let router = Router::new()
        .get("/later", later)
        .get("/never", never.timeout(Duration::from_millis(20)))
        .with_state(Arc::new(Mutex::new(gate)));
    let server = start(router, ExecutionModel::default());
    assert_eq!(body(&get(&server, "/later")), "later");
    assert!(get(&server, "/never").starts_with("HTTP/1.1 503 "));
    drop(open);
    stop(server);
}

#[test]
fn middleware_has_its_say_on_answers_that_come_later() {
    let log = SharedLog::default();
    let access_log = AccessLog::common().to_writer(log.clone());
    let later = |request: &mut Request| {
        let responder = request.defer();
        thread::spawn(move || responder.respond("warp and weft ".repeat(200).into_response()));
    };
    let at_once = |request: &mut Request| {
        let response = Response::new("at once").with_status(StatusCode::CREATED);
        request.defer().respond(response);
    };
    let elsewhere = |request: &mut Request| {
        let detached = request.detach();
        thread::spawn(move || detached.respond(Response::new("elsewhere")));
    };
    let dropped = |request: &mut Request| drop(request.defer());
    let own = |request: &mut Request, next: Next<'_>| {
        let response = next.run(request);
        request.amend_deferred(|answer| {
            answer.headers_mut().insert("x-own", HeaderValue::from_static("yes"));
        });
        response
    };
    let router = Router::new()
        .get("/later", later)
        .get("/at-once", at_once)
        .get("/elsewhere", elsewhere)
        .get("/dropped", dropped)
        .layer(own)
        .layer(Compression::new())
        .layer(DefaultHeaders::new().with("x-frame-options", "DENY"))
        .layer(Cors::new().allow_origin("https://app.example"))
        .layer(RequestIds)
        .layer(ServerTiming)
        .layer(access_log);
    let server = start(router, ExecutionModel::default());
    for (path, status) in [("later", 200), ("at-once", 201), ("elsewhere", 200), ("dropped", 500)] {
        let mut socket = connect(&server);
        write!(
            socket,
            "GET /{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept-Encoding: gzip\r\n\
             Origin: https://app.example\r\nX-Request-Id: {path}-1\r\n\r\n"
        )
        .unwrap();
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer).to_ascii_lowercase();
        assert!(answer.starts_with(&format!("http/1.1 {status} ")), "{answer}");
        for field in [
            "x-own: yes",
            "x-frame-options: deny",
            "access-control-allow-origin: https://app.example",
            &format!("x-request-id: {path}-1"),
            "server-timing: app;dur=",
        ] {
            assert!(answer.contains(&format!("\r\n{field}")), "{field} is missing: {answer}");
        }
        assert_eq!(answer.contains("\r\ncontent-encoding: gzip\r\n"), path == "later", "{answer}");
    }
    stop(server);
    let log = log.text();
    for line in ["/later HTTP/1.1\" 200 ", "/at-once HTTP/1.1\" 201 7\n", "/dropped HTTP/1.1\" 500 "] {
        assert!(log.contains(line), "{line} is missing: {log}");
    }
}

#[test]
fn figures_and_health_are_there() {
    let router = Router::new()
        .get("/", || "hello")
        .get("/metrics", Metrics::new())
        .get("/healthz", health::live)
        .get("/readyz", health::ready);
    let server = start(router, ExecutionModel::default());
    for _ in 0..3 {
        get(&server, "/");
    }
    get(&server, "/nowhere");
    assert_eq!(body(&get(&server, "/healthz")), "ok");
    assert_eq!(body(&get(&server, "/readyz")), "ok");
    let metrics = get(&server, "/metrics");
    for line in [
        "tayet_requests_total{route=\"GET /\",status=\"200\"} 3",
        "tayet_requests_total{route=\"fallback\",status=\"404\"} 1",
        "tayet_request_duration_seconds_count{route=\"GET /\"} 3",
        "tayet_connections_accepted_total 7",
        "tayet_route_dispatched{route=\"GET /\"} 0",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} is not in\n{metrics}");
    }
    stop(server);
}

#[test]
fn shutdown_answers_what_is_under_way_and_says_that_it_is_not_ready() {
    let (entered, entries) = mpsc::channel();
    let (open, gate) = mpsc::channel::<()>();
    type Gate = (mpsc::Sender<()>, Arc<Mutex<mpsc::Receiver<()>>>);
    fn slow(State((entered, gate)): State<Gate>, server: ServerHandle) -> String {
        entered.send(()).unwrap();
        let _ = gate.lock().unwrap().recv();
        format!("{:?} {}", health::ready(Some(server.clone())), server.is_shutting_down())
    }
    let router = Router::new().get("/slow", slow).with_state((entered, Arc::new(Mutex::new(gate))));
    let server = start(router, ExecutionModel::default());
    let client = {
        let server = server.clone();
        thread::spawn(move || get(&server, "/slow"))
    };
    entries.recv().unwrap();
    server.shutdown();
    drop(open);
    assert_eq!(body(&client.join().unwrap()), "(503, \"shutting down\") true");
    server.join();
}

/// A layer that counts how often it was told that the server has stopped, and then panics.
struct Stopped(Arc<AtomicUsize>);

impl Middleware for Stopped {
    fn call(&self, request: &mut Request, next: Next<'_>) -> Response {
        next.run(request)
    }

    fn stopped(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
        panic!("on purpose");
    }
}

#[test]
fn every_layer_is_told_once_that_the_server_has_stopped() {
    let counts = [(); 3].map(|()| Arc::new(AtomicUsize::new(0)));
    let layer = |index: usize| Stopped(Arc::clone(&counts[index]));
    let router: Router = Router::new()
        .route("/a", get_route(|| "a").post(|| "a").layer(layer(0)))
        .get("/b", |State(text): State<&'static str>| text)
        .route_layer(layer(1))
        .with_state("b");
    let server = start(Router::new().nest("/below", router).layer(layer(2)), ExecutionModel::default());
    assert_eq!(body(&get(&server, "/below/b")), "b");
    let told = || counts.each_ref().map(|count| count.load(Ordering::SeqCst));
    server.shutdown();
    assert_eq!(told(), [0; 3], "nobody waited for the end yet");
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                server.join();
                assert_eq!(told(), [1; 3]);
            });
        }
    });
}

#[test]
fn what_was_logged_is_written_when_the_server_has_stopped() {
    const REQUESTS: usize = 100;
    for execution in
        [ExecutionModel::default(), ExecutionModel::ThreadPool { threads: 2 }, ExecutionModel::Inline]
    {
        let (lines, written) = mpsc::channel();
        let log = AccessLog::common().to_writer(SlowWriter(lines));
        // The test keeps the log, so that nothing is written by being dropped.
        let server = start(Router::new().get("/", || "hello").layer(log.clone()), execution);
        let pipeline = "GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(REQUESTS - 1);
        let last = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        assert_eq!(exchange(&server, &(pipeline + last)).matches("hello").count(), REQUESTS);
        stop(server);
        assert_eq!(written.try_iter().sum::<usize>(), REQUESTS);
        assert_eq!(log.dropped(), 0);
    }
}

/// What was logged, to be read.
#[derive(Clone, Default)]
struct SharedLog(Arc<Mutex<Vec<u8>>>);

impl SharedLog {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for SharedLog {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Takes its time, and then says how many lines it was given.
struct SlowWriter(mpsc::Sender<usize>);

impl Write for SlowWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        thread::sleep(Duration::from_millis(20));
        let lines = bytes.iter().filter(|&&byte| byte == b'\n').count();
        self.0.send(lines).map_err(std::io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_server_tells_how_it_runs() {
    let execution = ExecutionModel::ThreadPool { threads: 3 };
    let router =
        Router::new().get("/", |server: ServerHandle| format!("{} {}", server.execution(), server.loops()));
    let server =
        Server::new(router).bind("127.0.0.1:0").unwrap().loops(2).execution(execution).start().unwrap();
    assert_eq!(body(&get(&server, "/")), "thread-pool:3 2");
    stop(server);
    let server = Server::new(Router::new()).bind("127.0.0.1:0").unwrap().start().unwrap();
    assert_eq!(server.execution(), ExecutionModel::default());
    assert!(server.loops() > 0);
    stop(server);
}

#[test]
fn what_cannot_be_listened_on_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let foreign = listener.local_addr().unwrap().to_string();
    let error = Server::new(Router::new()).bind(&foreign).unwrap().start().unwrap_err().to_string();
    assert!(error.contains(&foreign), "{error}");
    let error = Server::new(Router::new()).bind("nowhere").unwrap_err().to_string();
    assert!(error.contains("'nowhere'"), "{error}");
    let limits = Limits { head_timeout_ms: 0, ..Limits::default() };
    let error = Server::new(Router::new()).bind("127.0.0.1:0").unwrap().limits(limits).start().unwrap_err();
    assert!(error.to_string().contains("head_timeout_ms"), "{error}");
}

/// A door that calls wait at, and who came to it.
#[derive(Default)]
struct Door {
    is_open: Mutex<bool>,
    opened: Condvar,
    calls: AtomicUsize,
    inside: AtomicUsize,
    most_inside: AtomicUsize,
}

impl Door {
    fn pass(&self) {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_inside.fetch_max(inside, Ordering::SeqCst);
        drop(self.opened.wait_while(self.is_open.lock().unwrap(), |is_open| !*is_open).unwrap());
        self.inside.fetch_sub(1, Ordering::SeqCst);
    }

    fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.opened.notify_all();
    }

    fn wait_for(&self, inside: usize) {
        while self.inside.load(Ordering::SeqCst) < inside {
            thread::yield_now();
        }
    }
}

fn pass(State(door): State<Arc<Door>>) -> &'static str {
    door.pass();
    "passed"
}

#[test]
fn no_more_calls_run_than_the_concurrency_limit_says_and_other_routes_have_their_threads() {
    for execution in [ExecutionModel::TaskPool { max_threads: 6 }, ExecutionModel::ThreadPool { threads: 3 }]
    {
        let door = Arc::new(Door::default());
        let router = Router::new()
            .get("/door", pass.concurrency_limit(2))
            .get("/other", (|_: &mut Request| "there").blocking())
            .with_state(Arc::clone(&door));
        let server = start(router, execution);
        let clients = (0..12).map(|_| {
            let mut socket = connect(&server);
            socket.write_all(b"GET /door HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
            socket
        });
        let clients = clients.collect::<Vec<_>>();
        door.wait_for(2);
        assert_eq!(body(&get(&server, "/other")), "there", "{execution}");
        door.open();
        for mut client in clients {
            let mut text = String::new();
            client.read_to_string(&mut text).unwrap();
            assert_eq!(body(&text), "passed", "{execution}");
        }
        assert_eq!(door.calls.load(Ordering::SeqCst), 12);
        assert_eq!(door.most_inside.load(Ordering::SeqCst), 2, "{execution}");
        stop(server);
    }
}

#[test]
fn a_call_whose_time_is_up_before_it_begins_is_not_made() {
    let door = Arc::new(Door::default());
    let router = Router::new()
        .get("/door", pass.concurrency_limit(1).timeout(Duration::from_millis(50)))
        .with_state(Arc::clone(&door));
    let server = start(router, ExecutionModel::default());
    thread::scope(|scope| {
        let first = scope.spawn(|| get(&server, "/door"));
        door.wait_for(1);
        assert!(get(&server, "/door").starts_with("HTTP/1.1 503 "));
        assert!(first.join().unwrap().starts_with("HTTP/1.1 503 "));
    });
    door.open();
    assert_eq!(body(&get(&server, "/door")), "passed");
    assert_eq!(door.calls.load(Ordering::SeqCst), 2);
    stop(server);
}

/// What one call has at a time, and its thread keeps for the next where it may.
mod interpreter {
    use super::*;

    static LOCK: Mutex<()> = Mutex::new(());
    pub(super) static KEPT: AtomicUsize = AtomicUsize::new(0);

    thread_local! {
        static HELD: RefCell<Option<MutexGuard<'static, ()>>> = const { RefCell::new(None) };
    }

    pub(super) fn interpret(work: impl FnOnce()) {
        if Turn::take_kept() {
            KEPT.fetch_add(1, Ordering::Relaxed);
        } else {
            let turn = Turn::wait();
            HELD.set(Some(LOCK.lock().unwrap()));
            drop(turn);
        }
        assert!(LOCK.try_lock().is_err() && HELD.with_borrow(Option::is_some), "this call has it");
        work();
        if !Turn::keep(give_back) {
            give_back();
        }
    }

    pub(super) fn is_free() -> bool {
        LOCK.try_lock().is_ok()
    }

    fn give_back() {
        drop(HELD.take().expect("given back once"));
    }
}

#[test]
fn what_calls_take_turns_at_is_kept_for_those_that_wait_and_then_given_back() {
    const OTHERS: u64 = 6;
    let (open, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let either = move |tayet::Path(name): tayet::Path<String>| {
        let is_slow = name == "slow";
        interpreter::interpret(|| _ = is_slow.then(|| gate.lock().unwrap().recv()));
        name
    };
    let other = || if interpreter::is_free() { "free" } else { "kept" };
    let router = Router::new().get("/{name}", either.taking_turns()).get("/other", other);
    let server = start(router, ExecutionModel::ThreadPool { threads: 1 });
    let ask = |path: &str| {
        let mut socket = connect(&server);
        write!(socket, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        socket
    };
    let answer = |mut socket: TcpStream| {
        let mut text = String::new();
        socket.read_to_string(&mut text).unwrap();
        body(&text).to_owned()
    };
    let wait_for_queued = |count| {
        while server.metrics().queue_length < count {
            thread::yield_now();
        }
    };

    let slow = ask("/slow");
    while interpreter::is_free() {
        thread::yield_now();
    }
    let mut waiting = Vec::new();
    for count in 1..=OTHERS {
        waiting.push(ask("/quick"));
        wait_for_queued(count);
    }
    let other = ask("/other");
    wait_for_queued(OTHERS + 1);
    open.send(()).unwrap();
    assert_eq!(answer(slow), "slow");
    assert!(waiting.into_iter().all(|socket| answer(socket) == "quick"));
    assert_eq!(answer(other), "free", "another route has no use for it");
    // By all of them, unless they computed for 2 ms.
    let kept = interpreter::KEPT.load(Ordering::Relaxed) as u64;
    assert!((1..=OTHERS).contains(&kept), "{kept}");
    assert!(interpreter::is_free());
    stop(server);
}

#[test]
#[should_panic(expected = "never answers")]
fn a_concurrency_limit_of_none_is_refused() {
    let _ = Router::<()>::new().get("/", (|_: &mut Request| "").concurrency_limit(0));
}
