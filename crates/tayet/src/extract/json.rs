//! JSON, asked and answered.

use std::cell::Cell;

use bytes::Bytes;
use http::{HeaderValue, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use tayet_engine::BodyUse;

use crate::rejection::InvalidJson;
use crate::{Context, FromRequest, IntoResponse, Problem, Rejection, Request, Response};

/// JSON: as an extractor the body, as a response a body of type `application/json`.
///
/// A request's `Content-Type` must be `application/json` or end in `+json` (415). A body that is not JSON is answered 400,
/// one that is not of the wanted form 422; both answers say where.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use tayet::{Json, Router};
///
/// #[derive(Deserialize, Serialize)]
/// struct Order {
///     items: Vec<u32>,
/// }
///
/// fn double(Json(mut order): Json<Order>) -> Json<Order> {
///     order.items.iter_mut().for_each(|item| *item *= 2);
///     Json(order)
/// }
///
/// let client = tayet::testing::TestClient::new(Router::new().post("/double", double));
/// assert_eq!(client.post("/double").json(r#"{"items":[1,2]}"#).send().text(), r#"{"items":[2,4]}"#);
///
/// let wrong = client.post("/double").json(r#"{"items":[1,"two"]}"#).send();
/// assert_eq!(wrong.status(), 422);
/// assert!(wrong.text().contains("`items[1]`: invalid type: string"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Json<T>(pub T);

/// Most room that a thread keeps for writing answers in.
const MAX_KEPT_BYTES: usize = 64 * 1024;

thread_local! {
    /// Answers are written here and copied out: nothing grows, and each has a piece of memory of just its size.
    static WRITTEN: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl<S, T: DeserializeOwned> FromRequest<S> for Json<T> {
    const BODY: BodyUse = BodyUse::Buffered;
    type Rejection = Rejection;

    fn from_request(request: &mut Request, _: Context<'_, S>) -> Result<Self, Rejection> {
        let content_type = request.header("content-type");
        if !content_type.is_some_and(is_json) {
            let found = content_type.map(str::to_owned);
            return Err(Rejection::MediaType { expected: "application/json", found });
        }
        parse(&request.bytes()?).map(Self)
    }

    /// `None` without a `Content-Type`.
    fn optional_from_request(
        request: &mut Request,
        context: Context<'_, S>,
    ) -> Result<Option<Self>, Rejection> {
        match request.header("content-type") {
            None => Ok(None),
            Some(_) => Self::from_request(request, context).map(Some),
        }
    }
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match write(&self.0) {
            Ok(json) => {
                Response::new(json).with_content_type(const { HeaderValue::from_static("application/json") })
            }
            Err(error) => {
                tracing::error!("a handler's answer cannot be written as JSON: {error}");
                Problem::new(StatusCode::INTERNAL_SERVER_ERROR).into_response()
            }
        }
    }
}

fn write(value: &impl Serialize) -> serde_json::Result<Bytes> {
    let mut written = WRITTEN.take();
    written.clear();
    serde_json::to_writer(&mut written, value)?;
    if written.capacity() > MAX_KEPT_BYTES {
        return Ok(written.into());
    }
    let json = Bytes::copy_from_slice(&written);
    WRITTEN.set(written);
    Ok(json)
}

fn is_json(content_type: &str) -> bool {
    let media_type = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    media_type == "application/json"
        || (media_type.starts_with("application/") && media_type.ends_with("+json"))
}

fn parse<T: DeserializeOwned>(body: &Bytes) -> Result<T, Rejection> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        rejection(error.inner(), if path == "." { String::new() } else { path })
    })?;
    json.end().map_err(|error| rejection(&error, String::new()))?;
    Ok(value)
}

fn rejection(error: &serde_json::Error, path: String) -> Rejection {
    let place = format!(" at line {} column {}", error.line(), error.column());
    let reason = error.to_string();
    let reason = reason.strip_suffix(&place).unwrap_or(&reason).to_owned();
    let is_data = error.classify() == Category::Data;
    let path = if is_data { path } else { String::new() };
    let invalid = InvalidJson { path, line: error.line(), column: error.column(), reason };
    if is_data { Rejection::JsonData(invalid) } else { Rejection::JsonSyntax(invalid) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_room_for_answers_up_to_its_limit() {
        let long = "x".repeat(2 * MAX_KEPT_BYTES);
        assert_eq!(write(&"a").unwrap(), "\"a\"");
        assert_eq!(write(&long).unwrap().len(), long.len() + 2);
        let kept = WRITTEN.take();
        assert!(kept.capacity() <= MAX_KEPT_BYTES, "{}", kept.capacity());
        assert_eq!(write(&[1, 2]).unwrap(), "[1,2]");
    }
}
