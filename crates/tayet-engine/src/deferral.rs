//! An answer that comes later, and what is still to be changed of it.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use http::StatusCode;

use crate::sync::{Mutex, lock};
use crate::{Response, problem};

/// Between a handler that answers later and what stands around it: the answer waits until all that changes answers has said
/// what it changes.
#[derive(Default)]
pub(crate) struct Deferral {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    amendments: Vec<Amendment>,
    answer: Option<(Response, Send)>,
    /// Nothing more is to be said.
    is_released: bool,
}

pub(crate) type Amendment = Box<dyn FnOnce(&mut Response) + std::marker::Send>;
type Send = Box<dyn FnOnce(Response) + std::marker::Send>;

impl Deferral {
    /// Has the answer changed, behind what was said before.
    pub(crate) fn amend(&self, amendment: Amendment) {
        let mut state = lock(&self.state);
        if !state.is_released {
            state.amendments.push(amendment);
        }
    }

    /// The answer is there: changes and sends it, at once or when it is released. Only the first counts.
    pub(crate) fn answer(&self, response: Response, send: Send) {
        let mut state = lock(&self.state);
        if !state.is_released {
            state.answer.get_or_insert((response, send));
            return;
        }
        let amendments = std::mem::take(&mut state.amendments);
        drop(state);
        send(amended(response, amendments));
    }

    /// All that changes the answer has been said.
    pub(crate) fn release(&self) {
        let mut state = lock(&self.state);
        state.is_released = true;
        let Some((response, send)) = state.answer.take() else { return };
        let amendments = std::mem::take(&mut state.amendments);
        drop(state);
        send(amended(response, amendments));
    }
}

/// The answer as it is to be; where something panics over it, a 500.
fn amended(mut response: Response, amendments: Vec<Amendment>) -> Response {
    let change = || {
        amendments.into_iter().for_each(|amend| amend(&mut response));
        response
    };
    catch_unwind(AssertUnwindSafe(change)).unwrap_or_else(|_| {
        tracing::error!("what changes a deferred answer panicked");
        problem::response(StatusCode::INTERNAL_SERVER_ERROR, "", None)
    })
}

impl fmt::Debug for Deferral {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = lock(&self.state);
        f.debug_struct("Deferral").field("is_released", &state.is_released).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    use super::*;

    fn add(text: &'static str) -> Amendment {
        Box::new(move |response| {
            let body = [response.body().as_bytes().unwrap(), text.as_bytes()].concat();
            *response = Response::new(body);
        })
    }

    #[test]
    fn an_answer_is_changed_in_order_whether_it_comes_before_or_behind_what_changes_it() {
        for is_early in [true, false] {
            let deferral = Arc::new(Deferral::default());
            let (sender, sent) = channel();
            let answer = || {
                let sender = sender.clone();
                deferral.answer(Response::new("a"), Box::new(move |response| sender.send(response).unwrap()));
            };
            if is_early {
                answer();
            }
            deferral.amend(add("b"));
            deferral.amend(add("c"));
            assert!(sent.try_recv().is_err(), "it was not released");
            deferral.release();
            if !is_early {
                answer();
            }
            assert_eq!(sent.try_recv().unwrap().body().as_bytes(), Some(&b"abc"[..]));
        }
    }

    #[test]
    fn a_panic_over_an_answer_is_a_500() {
        let deferral = Deferral::default();
        // Unwinds without the message that a panic prints.
        deferral.amend(Box::new(|_| std::panic::resume_unwind(Box::new("as asked"))));
        deferral.release();
        let (sender, sent) = channel();
        deferral.answer(Response::new("a"), Box::new(move |response| sender.send(response).unwrap()));
        assert_eq!(sent.try_recv().unwrap().status(), StatusCode::INTERNAL_SERVER_ERROR);
    }
}
