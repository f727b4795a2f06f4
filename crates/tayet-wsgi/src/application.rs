//! One request's way through the application.

use std::sync::Arc;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use tayet::{Body, Bytes, IntoResponse, Method, Problem, Request, Response, StatusCode, WebSocketUpgrade};

use crate::attachment::attached_for_call;
use crate::callables::{Callables, SpareCallables};
use crate::environ::Environ;
use crate::file_wrapper::FileWrapper;
use crate::input::Input;
use crate::iterable::{Iterable, block_bytes};
use crate::log::print_exception;
use crate::response_head::ResponseHead;
use crate::start_response::Answer;
use crate::watch::Watch;
use crate::web_socket::WebSocket;
use crate::web_socket_calls::{WebSocketCalls, asks_for_web_socket};

/// A WSGI application, ready to be asked.
pub(crate) struct Application {
    callable: Py<PyAny>,
    environ: Environ,
    spare_callables: SpareCallables,
    /// Of a worker process.
    watch: Option<Arc<Watch>>,
    web_socket_calls: Arc<WebSocketCalls>,
}

impl Application {
    pub(crate) fn new(
        callable: Py<PyAny>,
        environ: Environ,
        watch: Option<Arc<Watch>>,
        web_socket_calls: Arc<WebSocketCalls>,
    ) -> Self {
        Self { callable, environ, spare_callables: SpareCallables::default(), watch, web_socket_calls }
    }

    /// Answers a request. Its thread may be a loop's, or a worker's; it waits for the GIL here.
    pub(crate) fn answer(self: &Arc<Self>, request: &mut Request) -> Response {
        if asks_for_web_socket(request) {
            return self.web_socket_calls.begin(self, request);
        }
        let mut answer = || attached_for_call(|py| self.answer_attached(py, request));
        match &self.watch {
            Some(watch) => watch.call(answer),
            None => answer(),
        }
    }

    /// Answers a request that asks for a WebSocket, on the thread that has it alone. What it returns is for one that the
    /// application has not accepted. `upgrade` is an answer where the request asks wrongly.
    pub(crate) fn answer_for_web_socket(
        &self,
        py: Python<'_>,
        request: &mut Request,
        upgrade: Result<WebSocketUpgrade, Response>,
    ) -> Response {
        let call = Input::of(py, request).and_then(|input| {
            let callables = Callables::new(py)?;
            let web_socket = Bound::new(py, WebSocket::new(upgrade, callables.answer().clone_ref(py)))?;
            Ok((input, callables, web_socket))
        });
        let (input, callables, web_socket) = match call {
            Ok(call) => call,
            Err(error) => return failed(py, &error),
        };
        let answer = callables.answer().get();
        let answered = self.environ.build(py, request, input.as_ref()).and_then(|environ| {
            environ.set_item(intern!(py, "tayet.websocket"), &web_socket)?;
            answer.lend(request, || {
                let iterable =
                    Iterable::new(self.callable.bind(py).call1((environ, callables.start_response(py)))?);
                respond(py, answer, iterable, false)
            })
        });
        if answer.is_upgraded() {
            let error = answered.err().filter(|_| !answer.is_upgrade_over());
            web_socket.get().call_ended(py, error.as_ref());
            return Response::default();
        }
        if let Some(queue) = answer.write_queue() {
            queue.finish(answered.is_ok());
        }
        let refusal = web_socket.get().take_refusal();
        refusal.unwrap_or_else(|| answered.unwrap_or_else(|error| failed(py, &error)))
    }

    fn answer_attached(&self, py: Python<'_>, request: &mut Request) -> Response {
        let call = Input::of(py, request).and_then(|input| Ok((input, self.spare_callables.take(py)?)));
        let (input, callables) = match call {
            Ok(call) => call,
            Err(error) => return failed(py, &error),
        };
        let answered = self.call(py, request, input.as_ref(), &callables);
        if let Some(queue) = callables.answer().get().write_queue() {
            queue.finish(answered.is_ok());
        }
        let response = answered.unwrap_or_else(|error| match input.and_then(|input| input.get().failure()) {
            Some(failure) => Problem::new(failure.status()).with_detail(failure.to_string()).into_response(),
            None => failed(py, &error),
        });
        self.spare_callables.give_back(py, callables);
        response
    }

    fn call(
        &self,
        py: Python<'_>,
        request: &mut Request,
        input: Option<&Bound<'_, Input>>,
        callables: &Callables,
    ) -> PyResult<Response> {
        let answer = callables.answer().get();
        let is_head = request.method() == Method::HEAD;
        let environ = self.environ.build(py, request, input)?;
        let called = || self.callable.bind(py).call1((environ, callables.start_response(py)));
        let iterable = Iterable::new(answer.lend(request, called)?);
        respond(py, answer, iterable, is_head)
    }
}

/// From what the application returned to what is sent.
fn respond(py: Python<'_>, answer: &Answer, mut iterable: Iterable, is_head: bool) -> PyResult<Response> {
    if let Some(queue) = answer.write_queue() {
        while let Some(block) = iterable.next(py)? {
            let bytes = block.as_bytes().to_vec();
            py.detach(|| queue.push(bytes))?;
        }
        iterable.close(py);
        // What is sent has been, or is being, by the queue.
        return Ok(Response::default());
    }
    if let Some(body) = iterable.listed(py)? {
        return Ok(whole(answer.take_head()?, body, is_head));
    }
    if let Ok(wrapper) = iterable.object(py).cast_exact::<FileWrapper>()
        && let Some(rest) = wrapper.get().rest(py)
    {
        let head = answer.take_head()?;
        let length = head.content_length().unwrap_or(rest.length);
        // What is sent has been opened anew, so the application's file is done with.
        iterable.close(py);
        let is_bodiless = is_head || head.has_no_body();
        return Ok(if is_bodiless {
            bodiless(head, Some(length))
        } else {
            head.with_body(rest.body(length))
        });
    }
    let first = iterable.next(py)?;
    let head = answer.take_head()?;
    let length = head.content_length();
    let Some(first) = first else {
        iterable.close(py);
        return Ok(whole(head, Bytes::new(), is_head));
    };
    if is_head || head.has_no_body() {
        iterable.close(py);
        return Ok(bodiless(head, length));
    }
    if length.is_some_and(|length| length <= first.as_bytes().len() as u64) || iterable.is_single(py) {
        let response = whole(head, block_bytes(first), is_head);
        iterable.close(py);
        return Ok(response);
    }
    let first = PyBackedBytes::from(first);
    Ok(match length {
        Some(length) => {
            head.with_body(Body::from_writer_sized(length, move |out| iterable.send(first, length, out)))
        }
        None => head.with_body(Body::from_writer(move |out| iterable.send(first, u64::MAX, out))),
    })
}

/// An answer that is all there. Where the application has said that it is longer, the connection is cut behind it; what is
/// more than it said is left out.
fn whole(head: ResponseHead, mut body: Bytes, is_head: bool) -> Response {
    use std::io::Write;
    let Some(length) = head.content_length() else { return head.with_body(body) };
    if is_head || head.has_no_body() {
        return bodiless(head, Some(length));
    }
    match usize::try_from(length).ok().filter(|length| *length <= body.len()) {
        Some(length) => {
            body.truncate(length);
            head.with_body(body)
        }
        None => {
            tracing::error!(
                length,
                given = body.len(),
                "the application's body is shorter than its Content-Length"
            );
            head.with_body(Body::from_writer_sized(length, move |out| {
                out.write_all(&body)?;
                out.flush()
            }))
        }
    }
}

/// An answer without a body, to HEAD for instance, with the length that one would have had.
fn bodiless(head: ResponseHead, length: Option<u64>) -> Response {
    head.with_body(match length {
        Some(length) => Body::from_writer_sized(length, |_| Ok(())),
        None => Body::from_writer(|_| Ok(())),
    })
}

/// The answer for an application that raised an exception before its head was sent.
fn failed(py: Python<'_>, error: &PyErr) -> Response {
    print_exception(py, "the application failed", error);
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR).into_response()
}
