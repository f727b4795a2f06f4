//! What the application is asked (PEP 3333, "environ Variables").

use std::sync::{Mutex, PoisonError};

use percent_encoding::percent_decode_str;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use tayet::{Method, PeerAddress, Request, Scheme, Version};

use crate::file_wrapper::FileWrapper;
use crate::header_fields::{HeaderFields, Item, SlotNumber, SlotsMet};
use crate::input::Input;
use crate::peers::Peers;
use crate::text;

/// Makes environs. What is the same for all requests of a listener is a dictionary that each of them copies.
pub(crate) struct Environ {
    base: Py<PyDict>,
    /// By the listener's address, as they are met.
    templates: Mutex<Vec<(PeerAddress, Py<PyDict>)>>,
    fields: HeaderFields,
    peers: Peers,
    script_name: String,
}

/// Templates that are kept. There are as many addresses as listeners, but behind a PROXY protocol as many as its clients
/// name.
const MAX_TEMPLATES: usize = 16;

/// What [`Environ::build`] sets for every request.
const ALWAYS_SET: [&str; 3] = ["PATH_INFO", "RAW_URI", "REQUEST_URI"];

/// Keys that are nowhere but in the making of a template.
const SPARE_KEYS: [&str; 4] = ["1", "2", "3", "4"];

/// What of the process every environ tells.
pub(crate) struct Surroundings {
    /// Where the application is mounted: empty, or `/path` without a slash at its end.
    pub(crate) script_name: String,
    pub(crate) is_multithread: bool,
    pub(crate) is_multiprocess: bool,
}

impl Environ {
    pub(crate) fn new(py: Python<'_>, surroundings: Surroundings) -> PyResult<Self> {
        let base = PyDict::new(py);
        let sys = py.import("sys")?;
        put(&base, "wsgi.version", (1, 0))?;
        put(&base, "wsgi.url_scheme", "http")?;
        put(&base, "wsgi.input", Bound::new(py, Input::empty())?)?;
        put(&base, "wsgi.errors", sys.getattr("stderr")?)?;
        put(&base, "wsgi.multithread", surroundings.is_multithread)?;
        put(&base, "wsgi.multiprocess", surroundings.is_multiprocess)?;
        put(&base, "wsgi.run_once", false)?;
        put(&base, "wsgi.input_terminated", true)?;
        put(&base, "wsgi.file_wrapper", py.get_type::<FileWrapper>())?;
        put(&base, "SERVER_SOFTWARE", concat!("tayet/", env!("CARGO_PKG_VERSION")))?;
        put(&base, "REQUEST_METHOD", "GET")?;
        put(&base, "REMOTE_ADDR", "")?;
        put(&base, "SERVER_PROTOCOL", "HTTP/1.1")?;
        put(&base, "SCRIPT_NAME", &surroundings.script_name)?;
        put(&base, "QUERY_STRING", "")?;
        let script_name = surroundings.script_name;
        Ok(Self {
            base: base.unbind(),
            templates: Mutex::default(),
            fields: HeaderFields::default(),
            peers: Peers::default(),
            script_name,
        })
    }

    /// The environ of a request, whose body, if it has one, goes into its `wsgi.input`.
    pub(crate) fn build<'py>(
        &self,
        py: Python<'py>,
        request: &Request,
        input: Option<&Bound<'py, Input>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let environ = self.begin(py, request.local_addr())?;
        match *request.method() {
            Method::GET => {}
            Method::POST => environ.set_item(intern!(py, "REQUEST_METHOD"), intern!(py, "POST"))?,
            ref method => environ.set_item(intern!(py, "REQUEST_METHOD"), method.as_str())?,
        }
        self.put_target(&environ, request)?;
        self.put_remote(&environ, request.remote_addr())?;
        if let Some(input) = input {
            environ.set_item(intern!(py, "wsgi.input"), input)?;
        }
        if request.version() != Version::HTTP_11 {
            environ.set_item(intern!(py, "SERVER_PROTOCOL"), format!("{:?}", request.version()))?;
        }
        if let Some(Scheme(scheme)) = request.extensions().and_then(|extensions| extensions.get()) {
            environ.set_item(intern!(py, "wsgi.url_scheme"), scheme.as_str())?;
        }
        self.put_fields(&environ, request)?;
        if !request.target().starts_with('/')
            && let Some(host) = request.host()
        {
            // RFC 9112 section 3.2.2: the target's host prevails.
            environ.set_item(intern!(py, "HTTP_HOST"), host)?;
        }
        Ok(environ)
    }

    fn begin<'py>(&self, py: Python<'py>, local: PeerAddress) -> PyResult<Bound<'py, PyDict>> {
        // Nothing is made under the lock: a collection might run then, and Python code with it, which may leave the GIL to a
        // thread that comes here.
        let lock = || self.templates.lock().unwrap_or_else(PoisonError::into_inner);
        let known =
            lock().iter().find(|(known, _)| *known == local).map(|(_, template)| template.clone_ref(py));
        if let Some(template) = known {
            return template.bind(py).copy();
        }
        let made = template(self.base.bind(py), local)?;
        let copy = made.copy();
        let mut templates = lock();
        if templates.len() < MAX_TEMPLATES && templates.iter().all(|(known, _)| *known != local) {
            templates.push((local, made.unbind()));
        }
        copy
    }

    fn put_target(&self, environ: &Bound<'_, PyDict>, request: &Request) -> PyResult<()> {
        let py = environ.py();
        let target = text::from_bytes(py, request.target().as_bytes());
        let path = self.path_info(environ, request.path())?;
        let path_info = match path {
            path if path.contains('%') => {
                text::from_bytes(py, &percent_decode_str(path).collect::<Vec<u8>>())
            }
            path if path == request.target() => target.clone(),
            path => text::from_bytes(py, path.as_bytes()),
        };
        environ.set_item(intern!(py, "PATH_INFO"), path_info)?;
        environ.set_item(intern!(py, "RAW_URI"), &target)?;
        environ.set_item(intern!(py, "REQUEST_URI"), target)?;
        match request.query() {
            Some(query) => environ.set_item(intern!(py, "QUERY_STRING"), query),
            None => Ok(()),
        }
    }

    fn put_remote(&self, environ: &Bound<'_, PyDict>, remote: PeerAddress) -> PyResult<()> {
        let PeerAddress::Ip(address) = remote else { return Ok(()) };
        let py = environ.py();
        environ.set_item(intern!(py, "REMOTE_ADDR"), self.peers.ip(py, address.ip()))?;
        environ.set_item(intern!(py, "REMOTE_PORT"), self.peers.port(py, address.port()))
    }

    /// The part of the path that is below the application. Where it is mounted elsewhere, that is all of it.
    fn path_info<'a>(&self, environ: &Bound<'_, PyDict>, path: &'a str) -> PyResult<&'a str> {
        match path.strip_prefix(&self.script_name) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => Ok(rest),
            _ => environ.set_item(intern!(environ.py(), "SCRIPT_NAME"), "").map(|()| path),
        }
    }

    fn put_fields(&self, environ: &Bound<'_, PyDict>, request: &Request) -> PyResult<()> {
        let mut met = SlotsMet::default();
        for (name, value) in request.fields() {
            let number = SlotNumber::of(name);
            let Some(item) = self.fields.item(environ.py(), number, name, value) else { continue };
            if met.add(number) {
                environ.set_item(item.0, item.1)?;
            } else {
                put_another(environ, item)?;
            }
        }
        Ok(())
    }
}

/// Puts a field in of whose name there may have been one. RFC 9110 section 5.3; RFC 6265 has semicolons between cookies.
fn put_another<'py>(environ: &Bound<'py, PyDict>, (key, value): Item<'py>) -> PyResult<()> {
    match environ.get_item(&key)? {
        None => environ.set_item(key, value),
        Some(_) if key == "CONTENT_TYPE" || key == "CONTENT_LENGTH" => Ok(()),
        Some(before) if key == "HTTP_COOKIE" => environ.set_item(key, format!("{before}; {value}")),
        Some(before) => environ.set_item(key, format!("{before},{value}")),
    }
}

fn template<'py>(base: &Bound<'py, PyDict>, local: PeerAddress) -> PyResult<Bound<'py, PyDict>> {
    let template = base.copy()?;
    // To replace a value costs less than to add a key.
    for key in ALWAYS_SET {
        put(&template, key, base.py().None())?;
    }
    match local {
        PeerAddress::Ip(address) => {
            put(&template, "SERVER_NAME", address.ip().to_string())?;
            put(&template, "SERVER_PORT", address.port().to_string())?;
        }
        // CGI wants both; a Unix socket has neither.
        PeerAddress::Unix => {
            put(&template, "SERVER_NAME", "localhost")?;
            put(&template, "SERVER_PORT", "80")?;
        }
    }
    // Keys that have come and gone leave room, which copies have too: they need not grow for a request's fields.
    for spare in SPARE_KEYS {
        template.set_item(spare, false)?;
    }
    SPARE_KEYS.iter().try_for_each(|spare| template.del_item(spare))?;
    Ok(template)
}

/// Keys are interned, so that the application's lookups find them by their address.
fn put<'py>(environ: &Bound<'py, PyDict>, key: &str, value: impl IntoPyObject<'py>) -> PyResult<()> {
    environ.set_item(PyString::intern(environ.py(), key), value)
}
