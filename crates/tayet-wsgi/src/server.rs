//! Starting and stopping.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use tayet::{Address, Config, Error, Handler, Request, Router, ServerHandle};

use crate::application::Application;
use crate::attachment;
use crate::descriptor;
use crate::environ::{Environ, Surroundings};

/// How long the end of a server waits for its threads to leave the interpreter. Those whose handlers do not return keep
/// theirs.
const THREADS_END_TIMEOUT_MS: u64 = 1_000;

/// A server of one application, on sockets that listen already.
///
/// It is `tayet.serve` and the command that people use; this is what they are made of.
#[pyclass(frozen, module = "tayet")]
pub(crate) struct Server {
    prepared: Mutex<Option<tayet::Server>>,
    handle: Mutex<Option<ServerHandle>>,
}

#[pymethods]
impl Server {
    /// Prepares a server.
    ///
    /// `descriptors` are listening sockets, which are duplicated. `settings` are names and values as in Tayet's
    /// configuration files. `timeout` in seconds is the time after which a client gets a 503 in place of an answer; 0 is
    /// none.
    #[new]
    #[pyo3(signature = (application, descriptors, settings, *, script_name="", multiprocess=false, multithread=true, timeout=0.0))]
    fn new(
        py: Python<'_>,
        application: Py<PyAny>,
        descriptors: Vec<i32>,
        settings: Vec<(String, String)>,
        script_name: &str,
        multiprocess: bool,
        multithread: bool,
        timeout: f64,
    ) -> PyResult<Self> {
        let surroundings = Surroundings {
            script_name: script_name.trim_end_matches('/').to_owned(),
            is_multithread: multithread,
            is_multiprocess: multiprocess,
        };
        let application = Arc::new(Application::new(application, Environ::new(py, surroundings)?));
        let answer = move |request: &mut Request| application.answer(request);
        let router = match Duration::try_from_secs_f64(timeout) {
            Ok(Duration::ZERO) => Router::new().fallback(answer),
            Ok(timeout) => Router::new().fallback(answer.timeout(timeout)),
            Err(error) => return Err(PyValueError::new_err(format!("timeout: {error}"))),
        };
        let mut config = Config::new();
        for (name, value) in &settings {
            config = config.with(name, value).map_err(|error| PyValueError::new_err(error.to_string()))?;
        }
        let mut server = tayet::Server::new(router).config(&config).map_err(to_python)?;
        for number in descriptors {
            server = server.listener(descriptor::duplicate(number)?).map_err(to_python)?;
        }
        Ok(Self { prepared: Mutex::new(Some(server)), handle: Mutex::new(None) })
    }

    /// Begins to serve, and returns.
    fn start(&self, py: Python<'_>) -> PyResult<()> {
        let prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner).take();
        let prepared = prepared.ok_or_else(|| PyRuntimeError::new_err("the server has been started"))?;
        let handle = py.detach(|| prepared.start()).map_err(to_python)?;
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
            attachment::wait_for_none(Duration::from_millis(THREADS_END_TIMEOUT_MS))
        })
    }

    /// Where it listens, such as `127.0.0.1:8000` or `unix:/run/app.sock`.
    #[getter]
    fn addresses(&self) -> Vec<String> {
        self.handle().map_or_else(Vec::new, |handle| handle.addresses().iter().map(Address::to_string).collect())
    }

    /// How many event loops it has.
    #[getter]
    fn loops(&self) -> usize {
        self.handle().map_or(0, |handle| handle.loops())
    }
}

impl Server {
    fn handle(&self) -> Option<ServerHandle> {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What is wrong with a setting is a `ValueError`; what the system refuses is an `OSError`.
fn to_python(error: Error) -> PyErr {
    let system = error.source().is_some_and(|source| source.is::<std::io::Error>());
    let message = error.to_string();
    if system { PyOSError::new_err(message) } else { PyValueError::new_err(message) }
}
