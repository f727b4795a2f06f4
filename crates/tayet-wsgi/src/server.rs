//! Starting and stopping.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use tayet::metrics::Metrics;
use tayet::metrics::prometheus_client::metrics::gauge::Gauge;
use tayet::{
    AccessLog, AccessLogFormat, Address, Config, ConfigError, Error, Files, Handler, Request, Router,
    ServerHandle, Topics,
};

use crate::application::Application;
use crate::attachment;
use crate::descriptor;
use crate::environ::{Environ, Surroundings};
use crate::relay::{Figures, Line, Relay};
use crate::reopening::{Reopen, ReopeningFile};
use crate::topics::{self, Hub};
use crate::watch::{Allowance, Watch};
use crate::web_socket_calls::{CALLS_END_TIMEOUT_MS, WebSocketCalls};

/// How long the end of a server waits for its threads to leave the interpreter. Those whose handlers do not return keep
/// theirs.
const THREADS_END_TIMEOUT_MS: u64 = 1_000;

/// Calls for WebSockets that there may be at once, unless the user says otherwise.
const DEFAULT_WEBSOCKET_THREADS: usize = 512;

/// Up to which size a body is waited for before the application is called, unless the user says otherwise: as much as would
/// wait for an application that reads one slowly. Calls with the whole of their body need no thread to wait for it.
const DEFAULT_STREAM_THRESHOLD_BYTES: usize = 256 * 1024;

/// A server of one application, on sockets that listen already.
///
/// It is `tayet.serve` and the command that people use; this is what they are made of.
#[pyclass(frozen, module = "tayet")]
pub(crate) struct Server {
    prepared: Mutex<Option<tayet::Server>>,
    handle: Mutex<Option<ServerHandle>>,
    reopen: Reopen,
    topics: Topics,
    /// To the supervisor, until the server starts.
    line: Mutex<Option<Line>>,
    hub: Mutex<Option<Arc<Hub>>>,
    web_socket_calls: Arc<WebSocketCalls>,
}

#[pymethods]
impl Server {
    /// Prepares a server.
    ///
    /// `descriptors` are listening sockets, which are duplicated. `settings` are names and values as in Tayet's
    /// configuration files. `timeout` in seconds is the time after which a client gets a 503 in place of an answer; 0 is
    /// none. `access_log` is a format and a file's path, or an empty one for the standard output. `supervisor` is a pipe on
    /// which it is told that the process is to be replaced, by `max_requests`, `max_rss_bytes` or a call that is past its
    /// time. `relay` is a stream socket to the supervisor, by which publications and figures go. `websocket_threads` is how many
    /// calls for WebSockets there may be at once. `static_files` are prefixes of paths with the directories that are served below them.
    #[new]
    #[pyo3(signature = (
        application, descriptors, settings, *, variables=Vec::new(), script_name="", multiprocess=false,
        multithread=true, timeout=0.0, access_log=None, supervisor=None, max_requests=0, max_rss_bytes=0,
        relay=None, websocket_threads=DEFAULT_WEBSOCKET_THREADS, static_files=Vec::new()
    ))]
    #[allow(clippy::too_many_arguments, reason = "each is a keyword argument in Python")]
    fn new(
        py: Python<'_>,
        application: Py<PyAny>,
        descriptors: Vec<i32>,
        settings: Vec<(String, String)>,
        variables: Vec<(String, String)>,
        script_name: &str,
        multiprocess: bool,
        multithread: bool,
        timeout: f64,
        access_log: Option<(String, String)>,
        supervisor: Option<i32>,
        max_requests: u64,
        max_rss_bytes: u64,
        relay: Option<i32>,
        websocket_threads: usize,
        static_files: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let surroundings = Surroundings {
            script_name: script_name.trim_end_matches('/').to_owned(),
            is_multithread: multithread,
            is_multiprocess: multiprocess,
        };
        let timeout = Duration::try_from_secs_f64(timeout)
            .map_err(|error| PyValueError::new_err(format!("timeout: {error}")))?;
        let allowance = Allowance { max_requests, max_rss_bytes, timeout };
        let watch =
            supervisor.map(|pipe| Watch::start(allowance, descriptor::duplicate(pipe)?)).transpose()?;
        let environ = Environ::new(py, surroundings)?;
        let web_socket_calls = Arc::new(WebSocketCalls::new(websocket_threads));
        let application = Application::new(application, environ, watch, Arc::clone(&web_socket_calls));
        let line = relay.map(|socket| descriptor::duplicate(socket).map(Line::new)).transpose()?;
        let reopen = Reopen::default();
        let mut router = router(application, timeout, attachment::has_gil(py));
        for (prefix, directory) in static_files {
            router = mount(router, &prefix, &directory)?;
        }
        if let Some((format, path)) = access_log {
            router = router.layer(open_access_log(&format, &path, &reopen)?);
        }
        let topics = Topics::default();
        let mut server = tayet::Server::new(router)
            .topics(topics.clone())
            .config(&config(variables, &settings)?)
            .map_err(to_python)?;
        for number in descriptors {
            server = server.listener(descriptor::duplicate(number)?).map_err(to_python)?;
        }
        Ok(Self {
            prepared: Mutex::new(Some(server)),
            handle: Mutex::new(None),
            reopen,
            topics,
            line: Mutex::new(line),
            hub: Mutex::default(),
            web_socket_calls,
        })
    }

    /// Begins to serve, and returns.
    fn start(&self, py: Python<'_>) -> PyResult<()> {
        let prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner).take();
        let prepared = prepared.ok_or_else(|| PyRuntimeError::new_err("the server has been started"))?;
        let handle = py.detach(|| prepared.start()).map_err(to_python)?;
        attachment::server_started(py);
        let hub = Arc::new(Hub { topics: self.topics.clone(), relay: self.start_relay(&handle)? });
        topics::join(Arc::clone(&hub));
        *self.hub.lock().unwrap_or_else(PoisonError::into_inner) = Some(hub);
        *self.handle.lock().unwrap_or_else(PoisonError::into_inner) = Some(handle);
        Ok(())
    }

    /// Begins to stop: accepts no more connections, and answers the requests under way. Returns at once.
    fn shutdown(&self) {
        if let Some(handle) = self.handle() {
            handle.shutdown();
        }
    }

    /// Waits for the end; `False` when threads are left that have not come back from the application.
    fn join(&self, py: Python<'_>) -> bool {
        let Some(handle) = self.handle() else { return true };
        py.detach(|| {
            handle.join();
            let calls_end_timeout = Duration::from_millis(CALLS_END_TIMEOUT_MS);
            let have_calls_ended = self.web_socket_calls.wait(calls_end_timeout);
            if let Some(hub) = self.hub.lock().unwrap_or_else(PoisonError::into_inner).take() {
                topics::leave(&hub);
            }
            // The first who comes here waits for the threads.
            let is_first = self.handle.lock().unwrap_or_else(PoisonError::into_inner).take().is_some();
            !is_first
                || have_calls_ended
                    && attachment::server_stopped(Duration::from_millis(THREADS_END_TIMEOUT_MS))
        })
    }

    /// Opens the access log's file anew.
    fn reopen_log(&self) {
        self.reopen.ask();
    }

    /// Where it listens, such as `127.0.0.1:8000` or `unix:/run/app.sock`.
    #[getter]
    fn addresses(&self) -> Vec<String> {
        self.handle()
            .map_or_else(Vec::new, |handle| handle.addresses().iter().map(Address::to_string).collect())
    }

    /// How many event loops it has.
    #[getter]
    fn loops(&self) -> usize {
        self.handle().map_or(0, |handle| handle.loops())
    }
}

impl Server {
    fn start_relay(&self, handle: &ServerHandle) -> PyResult<Option<Relay>> {
        let line = self.line.lock().unwrap_or_else(PoisonError::into_inner).take();
        let figures = figures(handle.clone(), Arc::clone(&self.web_socket_calls));
        Ok(line.map(|line| line.start(self.topics.clone(), figures)).transpose()?)
    }

    fn handle(&self) -> Option<ServerHandle> {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The server's figures as a text, for the supervisor.
fn figures(handle: ServerHandle, calls: Arc<WebSocketCalls>) -> Figures {
    let threads = Gauge::<i64>::default();
    let metrics = Metrics::new();
    metrics.register(|registry| {
        let help = "Threads that applications have for their WebSockets";
        registry.register("tayet_websocket_threads", help, threads.clone());
    });
    Box::new(move || {
        threads.set(i64::try_from(calls.running()).unwrap_or(i64::MAX));
        metrics.text(&handle).unwrap_or_default()
    })
}

fn router(application: Application, timeout: Duration, takes_turns: bool) -> Router {
    let application = Arc::new(application);
    let answer = move |request: &mut Request| application.answer(request);
    let answer = answer.learning_by_path();
    let answer = if takes_turns { answer.taking_turns() } else { answer };
    match timeout {
        Duration::ZERO => Router::new().fallback(answer),
        timeout => Router::new().fallback(answer.timeout(timeout)),
    }
}

fn mount(router: Router, prefix: &str, directory: &str) -> PyResult<Router> {
    if !prefix.starts_with('/') || prefix.contains(['{', '*']) || prefix.len() < 2 {
        return Err(PyValueError::new_err(format!("{prefix:?} is no path below which files can be served")));
    }
    let files = Files::open(directory)
        .map_err(|error| PyOSError::new_err(format!("cannot serve the files of {directory}: {error}")))?;
    Ok(router.nest(prefix.trim_end_matches('/'), files))
}

fn config(variables: Vec<(String, String)>, settings: &[(String, String)]) -> PyResult<Config> {
    let wrong = |error: ConfigError| PyValueError::new_err(error.to_string());
    let threshold = DEFAULT_STREAM_THRESHOLD_BYTES.to_string();
    let config = Config::new().with("stream_threshold_bytes", &threshold).map_err(wrong)?;
    let config = config.with_variables(variables).map_err(wrong)?;
    settings.iter().try_fold(config, |config, (name, value)| config.with(name, value)).map_err(wrong)
}

fn open_access_log(format: &str, path: &str, reopen: &Reopen) -> PyResult<AccessLog> {
    let format: AccessLogFormat =
        format.parse().map_err(|error| PyValueError::new_err(format!("access_log: {error}")))?;
    let log = AccessLog::new(format);
    if path.is_empty() {
        return Ok(log);
    }
    Ok(log.to_writer(ReopeningFile::open(Path::new(path), reopen.clone())?))
}

/// What is wrong with a setting is a `ValueError`; what the system refuses is an `OSError`.
fn to_python(error: Error) -> PyErr {
    let system = error.source().is_some_and(|source| source.is::<std::io::Error>());
    let message = error.to_string();
    if system { PyOSError::new_err(message) } else { PyValueError::new_err(message) }
}
