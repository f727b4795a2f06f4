//! An office's location, as the database has it and as clients see it.

use serde::{Deserialize, Serialize};
use tayet_mongo::Id;

/// The names of its fields are the same in the database and in JSON; what is not known is in neither.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct OfficeLocation {
    /// A client that adds an office may leave it out, and is told which one it got.
    #[serde(rename = "_id", default = "Id::new")]
    pub(crate) id: Id,
    pub(crate) tenant_id: Id,
    pub(crate) name: String,
    /// Of as many lines as it takes.
    pub(crate) address: String,
    /// In degrees, north of the equator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) latitude: Option<f64>,
    /// In degrees, east of Greenwich.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) longitude: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) email: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) phone: Option<String>,
    #[serde(rename = "sendICalNotifications")]
    pub(crate) send_ical_notifications: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) notification_email: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) catering_order_email: Option<String>,
    #[serde(default)]
    pub(crate) options: OfficeOptions,
}

/// When rooms can be booked. Hours are those of the office's own clock, 0 to 24.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct OfficeOptions {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) available_from_hour: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) available_until_hour: Option<u8>,
    /// The days of the week with other hours: 0 is Sunday.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) alt_schedule: Vec<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) alt_available_from_hour: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) alt_available_until_hour: Option<u8>,
}

impl OfficeLocation {
    /// An office whose strings have what is easily got wrong: quotes, backslashes, lines, what is not ASCII.
    pub(crate) fn sample() -> Self {
        Self {
            id: id("665f1c2e9b3d4a0012340007"),
            tenant_id: id("665f1c2e9b3d4a0012340001"),
            name: "Zürich \"Loom & Shuttle\" <HQ>".to_owned(),
            address: "Webergasse 7\r\n8001 Zürich\r\nplans: \\\\server\\plans".to_owned(),
            latitude: Some(47.3717),
            longitude: Some(8.5423),
            email: Some("office@loom.example".to_owned()),
            phone: Some("+41 44 555 01 23".to_owned()),
            send_ical_notifications: true,
            notification_email: Some("ical@loom.example".to_owned()),
            catering_order_email: Some("küche@loom.example".to_owned()),
            options: OfficeOptions {
                available_from_hour: Some(7),
                available_until_hour: Some(19),
                alt_schedule: vec![5, 6],
                alt_available_from_hour: Some(9),
                alt_available_until_hour: Some(13),
            },
        }
    }
}

fn id(hexadecimal: &str) -> Id {
    hexadecimal.parse().expect("24 hexadecimal digits")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_peers_of_the_benchmarks_serve_the_same_office() {
        let theirs: Value =
            serde_json::from_str(include_str!("../../bench/peers/office.json")).expect("JSON");
        assert_eq!(serde_json::to_value(OfficeLocation::sample()).expect("JSON"), theirs);
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let mut told = json!({"_id": "665f1c2e9b3d4a0012340007", "tenantId": "665f1c2e9b3d4a0012340001"});
        told["name"] = "a".into();
        told["address"] = "b".into();
        told["sendICalNotifications"] = false.into();
        let office: OfficeLocation = serde_json::from_value(told.clone()).expect("an office");
        told["options"] = json!({});
        assert_eq!(serde_json::to_value(office).expect("JSON"), told);
    }
}
