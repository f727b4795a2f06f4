//! Limits that are set by name.

use std::sync::LazyLock;

use serde_json::{Map, Value};
use tayet_engine::Limits;

/// Some fields of [`Limits`], by their names.
#[derive(Clone, Debug, Default)]
pub(super) struct LimitOverlay {
    fields: Map<String, Value>,
}

/// All fields, as a table.
static DEFAULTS: LazyLock<Map<String, Value>> = LazyLock::new(|| fields_of(&Limits::default()));

impl LimitOverlay {
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        DEFAULTS.keys().map(String::as_str)
    }

    pub(super) fn set(&mut self, name: &str, value: &toml::Value) -> Result<(), String> {
        let refusal = || format!("it must be an integer from 0 upwards, not {value}");
        let number = value.as_integer().and_then(|number| u64::try_from(number).ok()).ok_or_else(refusal)?;
        let mut fields = DEFAULTS.clone();
        fields.insert(name.to_owned(), number.into());
        serde_json::from_value::<Limits>(fields.into()).map_err(|error| error.to_string())?;
        self.fields.insert(name.to_owned(), number.into());
        Ok(())
    }

    /// These limits with the overlay's fields in place of their own.
    pub(super) fn over(&self, limits: &Limits) -> Limits {
        let mut fields = fields_of(limits);
        fields.extend(self.fields.clone());
        serde_json::from_value(fields.into()).expect("each field was checked when it was set")
    }
}

fn fields_of(limits: &Limits) -> Map<String, Value> {
    match serde_json::to_value(limits) {
        Ok(Value::Object(fields)) => fields,
        _ => unreachable!("limits are a structure of numbers"),
    }
}
