//! Which handler answers which request.

use std::panic::catch_unwind;

use proptest::prelude::*;
use tayet::testing::TestClient;
use tayet::{MatchedRoute, Method, Next, Path, Request, Response, Router, StatusCode, get};

fn label(route: MatchedRoute) -> String {
    route.label().to_owned()
}

fn values(route: MatchedRoute, Path(values): Path<Vec<String>>) -> String {
    format!("{} {values:?}", route.label())
}

fn ask(client: &TestClient, method: &str, target: &str) -> (u16, String) {
    let response = client.request(Method::from_bytes(method.as_bytes()).unwrap(), target).send();
    (response.status().as_u16(), response.text().to_owned())
}

fn allow(client: &TestClient, method: &str, target: &str) -> String {
    let response = client.request(Method::from_bytes(method.as_bytes()).unwrap(), target).send();
    response.header("allow").unwrap_or_default().to_owned()
}

#[test]
fn each_method_has_its_handler() {
    let router = Router::new()
        .get("/get", label)
        .post("/post", label)
        .put("/put", label)
        .patch("/patch", label)
        .delete("/delete", label)
        .options("/options", label)
        .trace("/trace", label)
        .on(Method::from_bytes(b"PURGE").unwrap(), "/purge", label)
        .on([Method::PUT, Method::PATCH], "/both", label)
        .any("/any", label)
        .route("/several", get(label).post(label).any(label));
    let client = TestClient::new(router);
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PURGE"] {
        let path = format!("/{}", method.to_lowercase());
        assert_eq!(ask(&client, method, &path), (200, format!("{method} {path}")));
    }
    for (method, path, answer) in [
        ("PUT", "/both", "PUT /both"),
        ("PATCH", "/both", "PATCH /both"),
        ("GET", "/any", "ANY /any"),
        ("BREW", "/any", "ANY /any"),
        ("OPTIONS", "/any", "ANY /any"),
        ("GET", "/several", "GET /several"),
        ("POST", "/several", "POST /several"),
        ("DELETE", "/several", "ANY /several"),
    ] {
        assert_eq!(ask(&client, method, path), (200, answer.to_owned()));
    }
}

#[test]
fn what_has_no_handler_gets_its_status() {
    let client = TestClient::new(
        Router::new()
            .get("/users/{id}", label)
            .put("/users/{id}", label)
            .post("/users/me", label)
            .get("/files/{*path}", label),
    );
    assert_eq!(ask(&client, "GET", "/nowhere").0, 404);
    assert_eq!(ask(&client, "GET", "/files/").0, 404);
    assert_eq!(ask(&client, "DELETE", "/users/7").0, 405);
    assert_eq!(allow(&client, "DELETE", "/users/7"), "GET, HEAD, PUT, OPTIONS");
    assert_eq!(allow(&client, "DELETE", "/users/me"), "GET, HEAD, POST, PUT, OPTIONS");
    assert_eq!(ask(&client, "OPTIONS", "/users/7"), (204, String::new()));
    assert_eq!(allow(&client, "OPTIONS", "/files/a/b"), "GET, HEAD, OPTIONS");
    assert_eq!(ask(&client, "OPTIONS", "/nowhere").0, 404);
    assert_eq!(ask(&client, "OPTIONS", "*").0, 204);
    assert_eq!(allow(&client, "OPTIONS", "*"), "GET, HEAD, POST, PUT, OPTIONS");
}

#[test]
fn a_pattern_without_the_method_gives_way() {
    let client = TestClient::new(Router::new().get("/users/{id}", label).post("/users/me", label));
    assert_eq!(ask(&client, "GET", "/users/me"), (200, "GET /users/{id}".to_owned()));
    assert_eq!(ask(&client, "POST", "/users/me"), (200, "POST /users/me".to_owned()));
}

#[test]
fn head_is_answered_by_get_unless_it_has_its_own() {
    let client = TestClient::new(
        Router::new().get("/a", || "body").get("/b", || "body").head("/b", || ([("x-own", "1")], ())),
    );
    let a = client.request(Method::HEAD, "/a").send();
    assert_eq!((a.status().as_u16(), a.text()), (200, ""));
    assert_eq!(a.header("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(client.request(Method::HEAD, "/b").send().header("x-own"), Some("1"));
}

#[test]
fn trailing_slashes_and_empty_segments_count() {
    let client = TestClient::new(Router::new().get("/a", label).get("/b/", label).get("/c//d", label));
    for (path, status) in
        [("/a", 200), ("/a/", 404), ("/b", 404), ("/b/", 200), ("/c//d", 200), ("/c/d", 404)]
    {
        assert_eq!(ask(&client, "GET", path).0, status, "{path}");
    }
}

#[test]
fn wildcards_without_a_name_match_and_capture_nothing() {
    fn end(Path(end): Path<String>) -> String {
        end
    }
    let client = TestClient::new(Router::new().get("/*/x/{end}", end).get("/any/**", label));
    assert_eq!(ask(&client, "GET", "/whatever/x/y"), (200, "y".to_owned()));
    assert_eq!(ask(&client, "GET", "/any/a/b"), (200, "GET /any/**".to_owned()));
}

#[test]
fn nested_routers_keep_their_layers_and_parameters() {
    fn mark(request: &mut Request, next: Next<'_>) -> Response {
        next.run(request).with_header("x-inner", "1")
    }
    fn both(Path((tenant, id)): Path<(String, u32)>) -> String {
        format!("{tenant} {id}")
    }
    let inner = Router::new().get("/", label).get("/items/{id}", both).layer(mark);
    let client = TestClient::new(Router::new().get("/", label).nest("/{tenant}", inner));
    assert_eq!(ask(&client, "GET", "/acme/items/7"), (200, "acme 7".to_owned()));
    assert_eq!(ask(&client, "GET", "/acme"), (200, "GET /{tenant}".to_owned()));
    assert_eq!(client.get("/acme").send().header("x-inner"), Some("1"));
    assert_eq!(client.delete("/acme").send().header("x-inner"), Some("1"));
    assert_eq!(client.get("/").send().header("x-inner"), None);
}

#[test]
fn the_nearest_fallback_answers() {
    let inner = Router::new().get("/known", label).fallback(|| (StatusCode::NOT_FOUND, "inner"));
    let client = TestClient::new(
        Router::new()
            .nest("/api", inner)
            .get("/api/outer", label)
            .get("/{*page}", label)
            .fallback(|| (StatusCode::NOT_FOUND, "outer")),
    );
    assert_eq!(ask(&client, "GET", "/api/known").0, 200);
    assert_eq!(ask(&client, "GET", "/api/outer").0, 200);
    for path in ["/api", "/api/", "/api/unknown", "/api/unknown/deeper"] {
        assert_eq!(ask(&client, "GET", path), (404, "inner".to_owned()), "{path}");
    }
    assert_eq!(ask(&client, "POST", "/api/known").0, 404);
    assert_eq!(ask(&client, "GET", "/apix"), (200, "GET /{*page}".to_owned()));
    assert_eq!(ask(&client, "POST", "/apix").0, 405);
    assert_eq!(ask(&client, "GET", "/"), (404, "outer".to_owned()));
}

#[test]
fn layers_stand_around_what_was_added_before_them() {
    fn layer(name: &'static str) -> impl Fn(&mut Request, Next<'_>) -> Response {
        move |request: &mut Request, next: Next<'_>| {
            let mut response = next.run(request);
            response.headers_mut().append("x-layer", name.parse().unwrap());
            response
        }
    }
    let client = TestClient::new(
        Router::new()
            .get("/both", label)
            .route_layer(layer("routes"))
            .layer(layer("inner"))
            .get("/one", label)
            .layer(layer("outer"))
            .get("/none", label),
    );
    let layers = |method: &str, path: &str| {
        let response = client.request(method.parse().unwrap(), path).send();
        let values = response.headers().get_all("x-layer").iter();
        values.map(|value| value.to_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(layers("GET", "/both"), "routes inner outer");
    assert_eq!(layers("DELETE", "/both"), "routes inner outer");
    assert_eq!(layers("OPTIONS", "/both"), "routes inner outer");
    assert_eq!(layers("GET", "/one"), "outer");
    assert_eq!(layers("GET", "/none"), "");
    assert_eq!(layers("GET", "/nowhere"), "inner outer");
    assert_eq!(layers("OPTIONS", "*"), "inner outer");
}

#[test]
fn a_405_of_ones_own_still_allows() {
    let router =
        Router::new().get("/", label).method_not_allowed_fallback(|| (StatusCode::METHOD_NOT_ALLOWED, "no"));
    let response = TestClient::new(router).delete("/").send();
    assert_eq!((response.status().as_u16(), response.text()), (405, "no"));
    assert_eq!(response.header("allow"), Some("GET, HEAD, OPTIONS"));
}

#[test]
fn conflicts_and_bad_patterns_are_named_when_they_are_added() {
    type Build = fn() -> Router;
    let cases: [(Build, &[&str]); 9] = [
        (|| Router::new().get("/a", label).get("/a", label), &["`/a`", "GET"]),
        (|| Router::new().any("/a", label).any("/a", label), &["`/a`", "any method"]),
        (|| Router::new().get("/{a}", label).get("/{b}", label), &["`/{a}`", "`/{b}`"]),
        (|| Router::new().get("/a%20b", label).get("/a b", label), &["`/a%20b`", "`/a b`", "GET"]),
        (|| Router::new().get("a", label), &["`a`", "slash"]),
        (|| Router::new().get("/{a", label), &["`/{a`", "brace"]),
        (|| Router::new().get("/n/x", label).nest("/n", Router::new().get("/x", label)), &["`/n/x`", "GET"]),
        (|| Router::new().merge(Router::new().get("/x", label)).get("/x", label), &["`/x`", "GET"]),
        (
            || {
                let with_fallback = || Router::new().fallback(label);
                with_fallback().merge(with_fallback())
            },
            &["fallback"],
        ),
    ];
    for (build, words) in cases {
        let panic = catch_unwind(build).expect_err("a panic");
        let message = panic.downcast_ref::<String>().cloned();
        let message = message.or(panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap();
        assert!(words.iter().all(|word| message.contains(word)), "{message} lacks one of {words:?}");
    }
}

/// A pattern's segment, for the naive matcher and as text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Segment {
    Literal(String),
    One,
    Rest,
}

fn pattern() -> impl Strategy<Value = Vec<Segment>> {
    let literal =
        prop::sample::select(vec!["", "a", "b", "ab"]).prop_map(|text| Segment::Literal(text.to_owned()));
    let segment = prop_oneof![3 => literal, 2 => Just(Segment::One)];
    (prop::collection::vec(segment, 0..4), any::<bool>()).prop_map(|(mut segments, has_rest)| {
        if has_rest || segments.is_empty() {
            segments.push(Segment::Rest);
        }
        segments
    })
}

/// Parameters are named by their places, so that patterns of one shape have the same names.
fn text_of(pattern: &[Segment]) -> String {
    let segments = pattern.iter().enumerate().map(|(place, segment)| match segment {
        Segment::Literal(text) => text.clone(),
        Segment::One => format!("{{p{place}}}"),
        Segment::Rest => format!("{{*p{place}}}"),
    });
    segments.map(|segment| format!("/{segment}")).collect()
}

/// What the parameters of a pattern that matches are, in the plainest words.
fn values_of(pattern: &[Segment], path: &[&str]) -> Vec<String> {
    let at = |place: usize| match pattern[place] {
        Segment::Literal(_) => None,
        Segment::One => Some(path[place].to_owned()),
        Segment::Rest => Some(path[place..].join("/")),
    };
    (0..pattern.len()).filter_map(at).collect()
}

/// Whether a pattern matches, in the plainest words.
fn matches(pattern: &[Segment], path: &[&str]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((Segment::Rest, _)), Some(_)) => path != [""],
        (Some((Segment::One, pattern)), Some((segment, path))) => {
            !segment.is_empty() && matches(pattern, path)
        }
        (Some((Segment::Literal(text), pattern)), Some((segment, path))) => {
            text == segment && matches(pattern, path)
        }
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The table finds what comes first in the order of specificity among all that match and have the method.
    #[test]
    fn the_table_agrees_with_a_naive_matcher(
        patterns in prop::collection::vec((pattern(), any::<bool>()), 1..12),
        segments in prop::collection::vec(prop::sample::select(vec!["", "a", "b", "ab", "c", "%61", "a%2Fb"]), 1..5),
        asks_get in any::<bool>(),
    ) {
        let mut known: Vec<(Vec<Segment>, bool)> = Vec::new();
        let mut router = Router::new();
        for (pattern, is_get) in patterns {
            if known.iter().all(|(other, _)| *other != pattern) {
                let method = if is_get { Method::GET } else { Method::POST };
                router = router.on(method, &text_of(&pattern), values);
                known.push((pattern, is_get));
            }
        }
        known.sort();
        let decoded: Vec<&str> = segments.iter().map(|segment| match *segment {
            "%61" => "a",
            // What no literal of the patterns is.
            "a%2Fb" => "a/b",
            plain => plain,
        }).collect();
        let matching: Vec<_> = known.iter().filter(|(pattern, _)| matches(pattern, &decoded)).collect();
        let winner = matching.iter().find(|(_, is_get)| *is_get == asks_get);
        let method = if asks_get { "GET" } else { "POST" };
        let path = format!("/{}", segments.join("/"));
        let (status, text) = ask(&TestClient::new(router), method, &path);
        match winner {
            Some((pattern, _)) => {
                let expected = format!("{method} {} {:?}", text_of(pattern), values_of(pattern, &decoded));
                prop_assert_eq!((status, text), (200, expected));
            }
            None => prop_assert_eq!(status, if matching.is_empty() { 404 } else { 405 }),
        }
    }

    /// Whatever a client sends, there is an answer.
    #[test]
    fn no_path_breaks_the_search(path in "/[a-z%/*{}0-9.;:@!-]{0,40}") {
        let router = Router::new().get("/", label).get("/{a}/b", label).get("/{a}/{*rest}", label).get("/a%20b", label);
        let (status, _) = ask(&TestClient::new(router), "GET", &path);
        prop_assert!(status == 200 || status == 404);
    }
}
