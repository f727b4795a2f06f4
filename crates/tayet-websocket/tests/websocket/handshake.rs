//! The opening handshake (RFC 6455 section 4.2), and what it agrees on (RFC 7692 section 7.1).

use tayet_websocket::{
    DeflateAgreement, DeflateSettings, HandshakeRefusal, MAX_EXTENSIONS, MAX_PROTOCOLS, Offer, accept,
};

use crate::pair::negotiate;

type Fields<'a> = &'a [(&'a str, &'a str)];

const REQUEST: Fields<'_> = &[
    ("upgrade", "websocket"),
    ("connection", "Upgrade"),
    ("sec-websocket-version", "13"),
    ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
];

/// Reads a good request in which the fields of these names are others.
fn read<'a>(changed: Fields<'a>) -> Result<Offer<'a>, HandshakeRefusal> {
    read_as("GET", true, changed)
}

fn read_as<'a>(method: &str, is_http_1_1: bool, changed: Fields<'a>) -> Result<Offer<'a>, HandshakeRefusal> {
    Offer::read(method, is_http_1_1, |name| {
        let is_changed = changed.iter().any(|(field, _)| *field == name);
        let fields = if is_changed { changed } else { REQUEST };
        fields.iter().filter(|(field, _)| *field == name).map(|(_, value)| value.as_bytes()).collect()
    })
}

#[test]
fn the_example_of_the_rfc() {
    assert_eq!(read(&[]).unwrap().accept(), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert_eq!(accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

#[test]
fn requests_that_are_in_order() {
    let accepted: &[Fields<'_>] = &[
        &[("upgrade", "WebSocket")],
        &[("upgrade", "h2c, websocket")],
        &[("upgrade", "h2c"), ("upgrade", "websocket")],
        &[("connection", "keep-alive, Upgrade")],
        &[("connection", "keep-alive"), ("connection", "upgrade")],
        &[("connection", "keep-alive,UPGRADE ,x")],
        &[("sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAA==")],
        &[("sec-websocket-key", " //////////+++++++++++w== ")],
        &[("sec-websocket-protocol", "")],
        &[("sec-websocket-extensions", "")],
        &[("sec-websocket-extensions", " , ,x; a = \"b\\c\" ;d,,")],
    ];
    for fields in accepted {
        assert!(read(fields).is_ok(), "{fields:?}: {:?}", read(fields));
    }
}

#[test]
fn requests_that_are_refused() {
    use HandshakeRefusal::*;
    let refused: &[(Fields<'_>, HandshakeRefusal, u16)] = &[
        (&[("upgrade", "")], NoUpgrade, 426),
        (&[("upgrade", "h2c")], NoUpgrade, 426),
        (&[("upgrade", "websockets")], NoUpgrade, 426),
        (&[("connection", "")], NoConnectionUpgrade, 400),
        (&[("connection", "close")], NoConnectionUpgrade, 400),
        (&[("connection", "upgrades")], NoConnectionUpgrade, 400),
        (&[("sec-websocket-version", "8")], UnsupportedVersion, 426),
        (&[("sec-websocket-version", "")], UnsupportedVersion, 426),
        (&[("sec-websocket-version", "013")], UnsupportedVersion, 426),
        (&[("sec-websocket-version", "13, 8")], UnsupportedVersion, 426),
        (&[("sec-websocket-version", "13"), ("sec-websocket-version", "13")], MalformedVersion, 400),
        (&[("sec-websocket-key", "")], MalformedKey, 400),
        (&[("sec-websocket-key", "AAAAAAAAAAAAAAAAAAAA")], MalformedKey, 400),
        (&[("sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAAA=")], MalformedKey, 400),
        (&[("sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAAAA")], MalformedKey, 400),
        (&[("sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAA")], MalformedKey, 400),
        (&[("sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAA$==")], MalformedKey, 400),
        (&[("sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAB==")], MalformedKey, 400),
        (&[("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZSBtb3Jl")], MalformedKey, 400),
        (&[REQUEST[3], REQUEST[3]], MalformedKey, 400),
        (&[("sec-websocket-protocol", "chat room")], MalformedProtocols, 400),
        (&[("sec-websocket-protocol", "chat, caf\u{e9}")], MalformedProtocols, 400),
        (&[("sec-websocket-protocol", "chat, chat")], MalformedProtocols, 400),
        (&[("sec-websocket-protocol", "chat"), ("sec-websocket-protocol", "chat")], MalformedProtocols, 400),
        (&[("sec-websocket-extensions", "x y")], MalformedExtensions, 400),
        (&[("sec-websocket-extensions", ";x")], MalformedExtensions, 400),
        (&[("sec-websocket-extensions", "x;")], MalformedExtensions, 400),
        (&[("sec-websocket-extensions", "x; a=")], MalformedExtensions, 400),
        (&[("sec-websocket-extensions", "x; a=\"b")], MalformedExtensions, 400),
        (&[("sec-websocket-extensions", "x; a=\"\"")], MalformedExtensions, 400),
        (&[("sec-websocket-extensions", "x; a=\"b c\"")], MalformedExtensions, 400),
        (&[("sec-websocket-extensions", "x; a=\"b\\")], MalformedExtensions, 400),
        (&[("sec-websocket-extensions", "x; a=b=c")], MalformedExtensions, 400),
        (&[("sec-websocket-extensions", "\u{e9}")], MalformedExtensions, 400),
    ];
    for (fields, refusal, status) in refused {
        assert_eq!(read(fields).err(), Some(*refusal), "{fields:?}");
        assert_eq!(refusal.status(), *status);
    }
    for missing in ["upgrade", "connection", "sec-websocket-version", "sec-websocket-key"] {
        let fields = |name: &str| {
            let there = REQUEST.iter().filter(|(field, _)| *field == name && name != missing);
            there.map(|(_, value)| value.as_bytes()).collect()
        };
        assert!(Offer::read("GET", true, fields).is_err(), "{missing}");
    }
    assert_eq!(read_as("POST", true, &[]).err(), Some(NotGet));
    assert_eq!(read_as("get", true, &[]).err(), Some(NotGet));
    assert_eq!(NotGet.status(), 405);
    assert_eq!(read_as("GET", false, &[]).err(), Some(NoUpgrade));
}

#[test]
fn subprotocols_come_in_the_clients_order() {
    assert_eq!(read(&[]).unwrap().protocols(), [""; 0]);
    let offer = read(&[("sec-websocket-protocol", "v2.chat, v1.chat"), ("sec-websocket-protocol", "x")]);
    assert_eq!(offer.unwrap().protocols(), ["v2.chat", "v1.chat", "x"]);
}

#[test]
fn so_many_offers_and_no_more() {
    let protocols = |count| (0..count).map(|number| format!("p{number}")).collect::<Vec<_>>().join(",");
    let most = protocols(MAX_PROTOCOLS);
    assert_eq!(read(&[("sec-websocket-protocol", &most)]).unwrap().protocols().len(), MAX_PROTOCOLS);
    let more = protocols(MAX_PROTOCOLS + 1);
    let refused = read(&[("sec-websocket-protocol", &more)]).err();
    assert_eq!(refused, Some(HandshakeRefusal::TooManyProtocols));

    let most = vec!["x"; MAX_EXTENSIONS].join(",");
    assert!(read(&[("sec-websocket-extensions", &most)]).is_ok());
    let more = vec!["x"; MAX_EXTENSIONS + 1].join(",");
    let refused = read(&[("sec-websocket-extensions", &more)]).err();
    assert_eq!(refused, Some(HandshakeRefusal::TooManyExtensions));
}

/// What a server with these settings answers to an offer.
fn answer(offer: &str, settings: &DeflateSettings) -> Option<String> {
    read(&[("sec-websocket-extensions", offer)]).unwrap().negotiate_deflate(settings).map(
        |(agreement, answer)| {
            assert_eq!(describe(&agreement), answer, "the answer says what was agreed on");
            answer
        },
    )
}

fn describe(agreement: &DeflateAgreement) -> String {
    let mut text = "permessage-deflate".to_owned();
    if agreement.server_no_context_takeover() {
        text += "; server_no_context_takeover";
    }
    if agreement.client_no_context_takeover() {
        text += "; client_no_context_takeover";
    }
    if agreement.server_max_window_bits() < 15 {
        text += &format!("; server_max_window_bits={}", agreement.server_max_window_bits());
    }
    if agreement.client_max_window_bits() < 15 {
        text += &format!("; client_max_window_bits={}", agreement.client_max_window_bits());
    }
    text
}

fn taking_over() -> DeflateSettings {
    DeflateSettings {
        server_no_context_takeover: false,
        client_no_context_takeover: false,
        ..DeflateSettings::default()
    }
}

#[test]
fn deflate_with_each_parameter() {
    let small = DeflateSettings { server_max_window_bits: 10, client_max_window_bits: 9, ..taking_over() };
    let by_default = "permessage-deflate; server_no_context_takeover; client_no_context_takeover";
    let rows: &[(&str, DeflateSettings, Option<&str>)] = &[
        ("permessage-deflate", DeflateSettings::default(), Some(by_default)),
        ("permessage-deflate; client_max_window_bits", DeflateSettings::default(), Some(by_default)),
        ("permessage-deflate", taking_over(), Some("permessage-deflate")),
        (
            "permessage-deflate; server_no_context_takeover",
            taking_over(),
            Some("permessage-deflate; server_no_context_takeover"),
        ),
        (
            "permessage-deflate; client_no_context_takeover",
            taking_over(),
            Some("permessage-deflate; client_no_context_takeover"),
        ),
        (
            "permessage-deflate; server_max_window_bits=8",
            taking_over(),
            Some("permessage-deflate; server_max_window_bits=8"),
        ),
        ("permessage-deflate; server_max_window_bits=15", taking_over(), Some("permessage-deflate")),
        (
            "permessage-deflate; server_max_window_bits=12; client_max_window_bits=\"11\"",
            taking_over(),
            Some("permessage-deflate; server_max_window_bits=12; client_max_window_bits=11"),
        ),
        (
            "permessage-deflate; client_max_window_bits; server_max_window_bits=9",
            small.clone(),
            Some("permessage-deflate; server_max_window_bits=9; client_max_window_bits=9"),
        ),
        (
            "permessage-deflate; client_max_window_bits=8",
            small.clone(),
            Some("permessage-deflate; server_max_window_bits=10; client_max_window_bits=8"),
        ),
        ("permessage-deflate", small.clone(), None),
        (
            "permessage-deflate, permessage-deflate; client_max_window_bits",
            small,
            Some("permessage-deflate; server_max_window_bits=10; client_max_window_bits=9"),
        ),
    ];
    for (offer, settings, expected) in rows {
        assert_eq!(answer(offer, settings).as_deref(), *expected, "{offer}");
    }
}

#[test]
fn offers_that_are_declined() {
    for offer in [
        "",
        "x",
        "permessage-bzip2",
        "Permessage-Deflate",
        "permessage-deflate; unknown",
        "permessage-deflate; unknown=1",
        "permessage-deflate; server_no_context_takeover=1",
        "permessage-deflate; client_no_context_takeover=true",
        "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
        "permessage-deflate; client_no_context_takeover; client_no_context_takeover",
        "permessage-deflate; server_max_window_bits",
        "permessage-deflate; server_max_window_bits=7",
        "permessage-deflate; server_max_window_bits=16",
        "permessage-deflate; server_max_window_bits=08",
        "permessage-deflate; server_max_window_bits=+9",
        "permessage-deflate; server_max_window_bits=a",
        "permessage-deflate; server_max_window_bits=9; server_max_window_bits=9",
        "permessage-deflate; client_max_window_bits=0",
        "permessage-deflate; client_max_window_bits=99999999999999999999",
        "permessage-deflate; client_max_window_bits; client_max_window_bits=9",
    ] {
        assert_eq!(answer(offer, &DeflateSettings::default()), None, "{offer}");
        let second = format!("{offer}, permessage-deflate; server_max_window_bits=14");
        assert_eq!(
            answer(&second, &taking_over()).as_deref(),
            Some("permessage-deflate; server_max_window_bits=14"),
            "{second}"
        );
    }
}

#[test]
fn settings_out_of_range_are_brought_into_it() {
    let settings = DeflateSettings {
        server_max_window_bits: 0,
        client_max_window_bits: 99,
        level: 99,
        min_bytes: usize::MAX,
        ..taking_over()
    };
    let offer = "permessage-deflate; client_max_window_bits";
    assert_eq!(answer(offer, &settings).as_deref(), Some("permessage-deflate; server_max_window_bits=8"));
}

#[test]
fn a_client_fails_on_an_answer_to_what_it_has_not_offered() {
    let offered = DeflateSettings { server_max_window_bits: 10, ..DeflateSettings::default() };
    let answer = "permessage-deflate; server_no_context_takeover; server_max_window_bits=10";
    assert!(offered.agree(answer).is_some());
    for answer in [
        "",
        "x",
        "permessage-deflate",
        "permessage-deflate; server_no_context_takeover",
        "permessage-deflate; server_max_window_bits=10",
        "permessage-deflate; server_no_context_takeover; server_max_window_bits=11",
        "permessage-deflate; server_no_context_takeover; server_max_window_bits=10; client_max_window_bits",
        "permessage-deflate; server_no_context_takeover; server_max_window_bits=10; x",
        "permessage-deflate; server_no_context_takeover; server_max_window_bits=10, permessage-deflate",
    ] {
        assert_eq!(offered.agree(answer), None, "{answer}");
    }
}

#[test]
fn both_ends_agree_whatever_their_settings() {
    let settings = || {
        [false, true].into_iter().flat_map(|server_no_context_takeover| {
            [(15, 15), (8, 15), (15, 8), (12, 10)].into_iter().map(move |(server, client)| DeflateSettings {
                server_no_context_takeover,
                client_no_context_takeover: !server_no_context_takeover || server == 8,
                server_max_window_bits: server,
                client_max_window_bits: client,
                ..DeflateSettings::default()
            })
        })
    };
    for client in settings() {
        for server in settings() {
            let agreement = negotiate(&client, &server).expect("a client that can be told is never declined");
            assert!(agreement.server_max_window_bits() <= client.server_max_window_bits);
            assert!(agreement.server_max_window_bits() <= server.server_max_window_bits);
            assert!(agreement.client_max_window_bits() <= server.client_max_window_bits);
            assert!(agreement.server_no_context_takeover() || !client.server_no_context_takeover);
            assert!(agreement.client_no_context_takeover() || !server.client_no_context_takeover);
        }
    }
}
