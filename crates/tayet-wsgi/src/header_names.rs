//! From `User-Agent` to `HTTP_USER_AGENT`.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use pyo3::prelude::*;
use pyo3::types::PyString;

/// Names that are remembered; a client that makes up others gets new texts each time.
const MAX_REMEMBERED_NAMES: usize = 512;

/// The environ's names of the header fields that were seen.
#[derive(Default)]
pub(crate) struct HeaderNames {
    known: RwLock<HashMap<Box<str>, Option<Py<PyString>>>>,
}

impl HeaderNames {
    /// A field's name in the environ. `None` for one that is not to be there: with an underscore, which a client could pass
    /// off as a hyphen, and `Proxy`, which programs take for their own setting.
    pub(crate) fn get<'py>(&self, py: Python<'py>, name: &str) -> Option<Bound<'py, PyString>> {
        if let Some(known) = self.known.read().unwrap_or_else(PoisonError::into_inner).get(name) {
            return known.as_ref().map(|text| text.bind(py).clone());
        }
        let made = environ_name(name).map(|text| PyString::new(py, &text).unbind());
        let result = made.as_ref().map(|text| text.bind(py).clone());
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() < MAX_REMEMBERED_NAMES {
            known.insert(name.into(), made);
        }
        result
    }
}

fn environ_name(name: &str) -> Option<String> {
    if name.contains('_') || name.eq_ignore_ascii_case("proxy") {
        return None;
    }
    let name = name.to_ascii_uppercase().replace('-', "_");
    // The two that CGI knows without the prefix.
    Some(if matches!(&*name, "CONTENT_TYPE" | "CONTENT_LENGTH") { name } else { format!("HTTP_{name}") })
}
