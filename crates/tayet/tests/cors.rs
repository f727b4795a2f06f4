//! What browsers are told about other sites (the CORS protocol of the Fetch standard).

use std::panic::catch_unwind;
use std::time::Duration;

use tayet::testing::{TestClient, TestResponse};
use tayet::{Cors, Method, Router};

const SITE: &str = "https://app.example";

fn client(cors: Cors) -> TestClient {
    TestClient::new(Router::new().get("/x", || "x").put("/x", || "put").layer(cors))
}

fn get(cors: Cors, origin: Option<&str>) -> TestResponse {
    let client = client(cors);
    let request = client.get("/x");
    match origin {
        Some(origin) => request.header("Origin", origin).send(),
        None => request.send(),
    }
}

fn preflight(cors: Cors, origin: &str, headers: Option<&str>) -> TestResponse {
    let client = client(cors);
    let request = client
        .request(Method::OPTIONS, "/x")
        .header("Origin", origin)
        .header("Access-Control-Request-Method", "PUT");
    match headers {
        Some(headers) => request.header("Access-Control-Request-Headers", headers).send(),
        None => request.send(),
    }
}

#[test]
fn only_allowed_origins_may_read() {
    let none = Cors::new;
    let list = || Cors::new().allow_origin(SITE).allow_origin("http://localhost:3000").allow_origin("null");
    let any = || Cors::new().allow_any_origin();
    let ends = || Cors::new().allow_origin_if(|origin| origin.ends_with(".example"));
    for (name, cors, origin, allowed, varies) in [
        ("none", none(), Some(SITE), None, false),
        ("list", list(), Some(SITE), Some(SITE), true),
        ("list, in capitals", list(), Some("HTTPS://APP.EXAMPLE"), Some("HTTPS://APP.EXAMPLE"), true),
        ("list, second", list(), Some("http://localhost:3000"), Some("http://localhost:3000"), true),
        ("list, null", list(), Some("null"), Some("null"), true),
        ("list, other port", list(), Some("http://localhost:3001"), None, true),
        ("list, longer", list(), Some("https://app.example.evil.test"), None, true),
        ("list, no origin", list(), None, None, true),
        ("any", any(), Some(SITE), Some("*"), false),
        ("any, no origin", any(), None, None, false),
        ("predicate", ends(), Some(SITE), Some(SITE), true),
        ("predicate, other", ends(), Some("https://app.test"), None, true),
    ] {
        let response = get(cors, origin);
        assert_eq!(response.text(), "x", "{name}: the handler answers in any case");
        assert_eq!(response.header("access-control-allow-origin"), allowed, "{name}");
        assert_eq!(response.header("vary"), varies.then_some("origin"), "{name}");
    }
}

#[test]
fn a_preflight_is_answered_without_the_handler() {
    let response = preflight(Cors::new().allow_origin(SITE), SITE, None);
    assert_eq!((response.status().as_u16(), response.text()), (204, ""));
    assert_eq!(response.header("access-control-allow-origin"), Some(SITE));
    assert_eq!(response.header("access-control-allow-methods"), Some("GET, HEAD, PUT, OPTIONS"));
    assert_eq!(response.header("access-control-allow-headers"), None);
    assert_eq!(response.header("access-control-max-age"), None);
    let vary: Vec<_> = response.headers().get_all("vary").iter().collect();
    assert_eq!(vary, ["origin", "access-control-request-method, access-control-request-headers"]);
}

#[test]
fn a_preflight_of_another_site_is_told_nothing() {
    let response =
        preflight(Cors::new().allow_origin("https://other.example").allow_credentials(), SITE, None);
    assert_eq!(response.status(), 204);
    assert!(response.headers().keys().all(|name| name == "vary"), "{:?}", response.headers());
}

#[test]
fn what_is_named_is_allowed() {
    let cors = Cors::new()
        .allow_origin(SITE)
        .allow_methods([Method::GET, Method::from_bytes(b"BREW").unwrap()])
        .allow_headers(["Content-Type", "x-key"])
        .expose_headers(["X-Total"])
        .allow_credentials()
        .max_age(Duration::from_millis(2500));
    let response = preflight(cors.clone(), SITE, Some("x-other"));
    assert_eq!(response.header("access-control-allow-methods"), Some("GET, BREW"));
    assert_eq!(response.header("access-control-allow-headers"), Some("content-type, x-key"));
    assert_eq!(response.header("access-control-allow-credentials"), Some("true"));
    assert_eq!(response.header("access-control-max-age"), Some("2"));
    assert_eq!(response.header("access-control-expose-headers"), None);
    let response = get(cors, Some(SITE));
    assert_eq!(response.header("access-control-expose-headers"), Some("x-total"));
    assert_eq!(response.header("access-control-allow-credentials"), Some("true"));
    assert_eq!(response.header("access-control-max-age"), None);
}

#[test]
fn any_header_is_the_one_that_is_asked_for() {
    let cors = || Cors::new().allow_any_origin().allow_any_header();
    let response = preflight(cors(), SITE, Some("x-a, x-b"));
    assert_eq!(response.header("access-control-allow-headers"), Some("x-a, x-b"));
    assert_eq!(preflight(cors(), SITE, None).header("access-control-allow-headers"), None);
}

#[test]
fn other_options_requests_are_not_preflights() {
    let client = client(Cors::new().allow_origin(SITE));
    let bare = client.request(Method::OPTIONS, "/x").header("Origin", SITE).send();
    assert_eq!(bare.header("allow"), Some("GET, HEAD, PUT, OPTIONS"));
    assert_eq!(bare.header("access-control-allow-origin"), Some(SITE));
    let unknown = client.get("/unknown").header("Origin", SITE).send();
    assert_eq!((unknown.status().as_u16(), unknown.header("access-control-allow-origin")), (404, Some(SITE)));
}

#[test]
fn what_would_be_unsafe_or_meaningless_is_refused_when_it_is_built() {
    type Build = fn() -> Cors;
    let cases: [(Build, &str); 7] = [
        (|| Cors::new().allow_any_origin().allow_credentials(), "every site act as the user"),
        (|| Cors::new().allow_credentials().allow_any_origin(), "every site act as the user"),
        (|| Cors::new().allow_origin("app.example"), "is no origin"),
        (|| Cors::new().allow_origin("https://app.example/"), "is no origin"),
        (|| Cors::new().allow_origin("*"), "is no origin"),
        (|| Cors::new().allow_any_origin().allow_origin(SITE), "another way"),
        (|| Cors::new().allow_headers(["x y"]), "`x y` is no header name"),
    ];
    for (build, reason) in cases {
        let panic = catch_unwind(build).expect_err(reason);
        let message = panic.downcast_ref::<String>().cloned();
        let message = message.or(panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap();
        assert!(message.contains(reason), "{message}");
    }
}
