use mongodb::bson::oid::ObjectId;
use serde::{Deserialize, Serialize, Serializer};

/// An office's location, in the database and as JSON.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Office {
    #[serde(rename = "_id", serialize_with = "hexadecimal")]
    id: ObjectId,
    #[serde(serialize_with = "hexadecimal")]
    tenant_id: ObjectId,
    name: String,
    address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    latitude: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    longitude: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phone: Option<String>,
    #[serde(rename = "sendICalNotifications")]
    send_ical_notifications: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    notification_email: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    catering_order_email: Option<String>,
    options: Options,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Options {
    #[serde(skip_serializing_if = "Option::is_none")]
    available_from_hour: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    available_until_hour: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alt_schedule: Option<Vec<i32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alt_available_from_hour: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alt_available_until_hour: Option<i32>,
}

/// As JSON has it; nothing is written to the database.
fn hexadecimal<S: Serializer>(id: &ObjectId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}
