//! What handlers take from requests, and what clients are told when it is not there.

use std::collections::HashMap;
use std::io::Read;

use serde::Deserialize;
use tayet::testing::{TestClient, TestResponse};
use tayet::{
    BodyStream, Bytes, Cookie, Cookies, Extension, Form, HeaderMap, Host, Json, Method, Path, Query,
    Rejection, RemoteAddr, Request, Router, Scheme, ServerHandle, State, StatusCode, Uri, Version,
};

fn detail(response: &TestResponse) -> (u16, String) {
    let problem: serde_json::Value = response.json();
    assert_eq!(response.header("content-type"), Some("application/problem+json"));
    (response.status().as_u16(), problem["detail"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn paths_become_any_type() {
    #[derive(Deserialize)]
    struct Named {
        b: u8,
        a: Option<String>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Size {
        Small,
        Large,
    }
    #[derive(Deserialize)]
    struct Wrapped(u32);
    let client = TestClient::new(
        Router::new()
            .get("/text/{a}", |Path(a): Path<String>| a)
            .get("/wrapped/{a}", |Path(Wrapped(a)): Path<Wrapped>| a.to_string())
            .get("/option/{a}", |Path(a): Path<Option<i8>>| format!("{a:?}"))
            .get("/bool/{a}", |Path(a): Path<bool>| a.to_string())
            .get("/float/{a}", |Path(a): Path<f64>| a.to_string())
            .get("/size/{a}", |Path(size): Path<Size>| match size {
                Size::Small => "S",
                Size::Large => "L",
            })
            .get("/named/{a}/{b}", |Path(named): Path<Named>| format!("{:?} {}", named.a, named.b))
            .get("/tuple/{a}/{b}", |Path((a, b)): Path<(String, u8)>| format!("{a} {b}"))
            .get("/map/{a}/{b}", |Path(map): Path<HashMap<String, String>>| {
                format!("{} {}", map["a"], map["b"])
            })
            .get("/list/{a}/{b}", |Path(list): Path<Vec<String>>| list.join(" "))
            .get("/rest/{*rest}", |Path(rest): Path<String>| rest)
            .get("/none", |path: Option<Path<String>>| path.is_none().to_string()),
    );
    for (path, answer) in [
        ("/text/a%20%C3%BC%2Fb", "a ü/b"),
        ("/text/a+b", "a+b"),
        ("/wrapped/7", "7"),
        ("/option/-3", "Some(-3)"),
        ("/bool/true", "true"),
        ("/float/1.5", "1.5"),
        ("/size/large", "L"),
        ("/named/x/7", "Some(\"x\") 7"),
        ("/tuple/x/7", "x 7"),
        ("/map/x/y", "x y"),
        ("/list/x/y", "x y"),
        ("/rest/a/b%2Fc/", "a/b/c/"),
        ("/none", "true"),
    ] {
        assert_eq!(client.get(path).send().text(), answer, "{path}");
    }
}

#[test]
fn a_path_of_the_wrong_type_names_its_parameter() {
    let client = TestClient::new(
        Router::new()
            .get("/byte/{n}", |_: Path<u8>| "")
            .get("/text/{name}", |_: Path<String>| "")
            .get("/pair/{a}/{b}", |_: Path<(u8, u8)>| "")
            .get("/one/{a}/{b}", |_: Path<u8>| ""),
    );
    for (path, expected) in [
        ("/byte/256", "the path: `n`: \"256\" is not an integer from 0 to 255"),
        ("/byte/x", "the path: `n`: \"x\" is not an integer from 0 to 255"),
        ("/text/%FF", "the path: `name`: it is not UTF-8"),
        ("/pair/1/x", "the path: `b`: \"x\" is not an integer from 0 to 255"),
        ("/one/1/2", "the path: one value is wanted of a route with 2 parameters"),
    ] {
        assert_eq!(detail(&client.get(path).send()), (400, expected.to_owned()));
    }
}

#[derive(Debug, Deserialize)]
struct Search {
    q: String,
    #[serde(default)]
    tag: Vec<u8>,
    page: Option<u32>,
}

#[test]
fn queries_become_any_type() {
    let client = TestClient::new(
        Router::new()
            .get("/search", |Query(s): Query<Search>| format!("{} {:?} {:?}", s.q, s.tag, s.page))
            .get("/pairs", |Query(pairs): Query<Vec<(String, u8)>>| format!("{pairs:?}"))
            .get("/map", |Query(map): Query<HashMap<String, String>>| map.len().to_string())
            .get("/option", |query: Option<Query<Search>>| query.is_some().to_string())
            .get("/result", |query: Result<Query<Search>, Rejection>| query.is_ok().to_string()),
    );
    for (target, answer) in [
        ("/search?q=a%20b+c", "a b c [] None"),
        ("/search?tag=1&q=x&tag=2&page=3", "x [1, 2] Some(3)"),
        ("/search?q=&unknown=1", " [] None"),
        ("/pairs?b=1&a=2&b=3", "[(\"b\", 1), (\"a\", 2), (\"b\", 3)]"),
        ("/map", "0"),
        ("/map?a=1&b", "2"),
        ("/option", "false"),
        ("/option?q=x", "true"),
        ("/result?x", "false"),
    ] {
        assert_eq!(client.get(target).send().text(), answer, "{target}");
    }
    for (target, expected) in [
        ("/search", "the query: missing field `q`"),
        ("/search?q=1&q=2", "the query: `q`: it is there more than once"),
        ("/search?q=x&page=-1", "the query: `page`: \"-1\" is not an integer from 0 to 4294967295"),
        ("/search?q=x&tag=1&tag=y", "the query: `tag`: \"y\" is not an integer from 0 to 255"),
        ("/option?x=1", "the query: missing field `q`"),
    ] {
        assert_eq!(detail(&client.get(target).send()), (400, expected.to_owned()));
    }
}

#[test]
fn many_parameters_of_one_name_are_gathered_quickly() {
    let client = TestClient::new(
        Router::new().post("/", |Form(form): Form<HashMap<String, Vec<String>>>| form["a"].len().to_string()),
    );
    assert_eq!(client.post("/").form("a=1&b=2&".repeat(100_000)).send().text(), "100000");
}

#[test]
fn json_bodies_say_what_is_wrong_and_where() {
    #[derive(Deserialize)]
    struct Order {
        items: Vec<Item>,
    }
    #[derive(Deserialize)]
    struct Item {
        price: f64,
    }
    let client = TestClient::new(
        Router::new()
            .post("/order", |Json(order): Json<Order>| {
                order.items.iter().map(|item| item.price).sum::<f64>().to_string()
            })
            .post("/option", |order: Option<Json<Order>>| order.is_some().to_string()),
    );
    let post = |body: &str| client.post("/order").json(body.to_owned()).send();
    assert_eq!(post(r#"{"items":[{"price":1.5},{"price":2}]}"#).text(), "3.5");
    assert_eq!(
        detail(&post("{\"items\":[{\"price\":1},\n {\"price\":\"x\"}]}")),
        (
            422,
            "the body's JSON is not of the expected form: `items[1].price`: invalid type: string \"x\", expected f64 \
             at line 2 column 13"
                .to_owned()
        )
    );
    assert_eq!(
        detail(&post("{\"items\":\n[}")),
        (400, "the body is not JSON: expected value at line 2 column 2".to_owned())
    );
    assert_eq!(detail(&post(r#"{"items":[]} x"#)).0, 400);
    assert_eq!(detail(&post("")).0, 400);
    for (content_type, status) in [
        ("application/json; charset=utf-8", 200),
        ("Application/JSON", 200),
        ("application/vnd.order+json", 200),
        ("text/plain", 415),
        ("application/jsonp", 415),
        ("text/x+json", 415),
    ] {
        let request = client.post("/order").header("Content-Type", content_type);
        assert_eq!(request.body(r#"{"items":[]}"#).send().status().as_u16(), status, "{content_type}");
    }
    let bare = client.post("/order").body("{}").send();
    assert_eq!(
        detail(&bare),
        (415, "the body must be application/json, but Content-Type is missing".to_owned())
    );
    assert_eq!(client.post("/option").send().text(), "false");
    assert_eq!(client.post("/option").json(r#"{"items":[]}"#).send().text(), "true");
    assert_eq!(client.post("/option").json("{").send().status(), 400);
}

#[test]
fn forms_come_in_the_body_or_the_query() {
    let form = |Form(search): Form<Search>| search.q;
    let client = TestClient::new(Router::new().get("/", form).post("/", form));
    assert_eq!(client.get("/?q=a+b").send().text(), "a b");
    assert_eq!(client.post("/").form("q=%C3%BC").send().text(), "ü");
    assert_eq!(client.post("/").body("q=x").send().status(), 415);
    assert_eq!(
        detail(&client.post("/").form("q=x&page=y").send()),
        (422, "the form: `page`: \"y\" is not an integer from 0 to 4294967295".to_owned())
    );
}

#[test]
fn bodies_come_whole_or_as_a_stream() {
    fn stream(mut body: BodyStream) -> tayet::Result<String> {
        let mut text = String::new();
        body.read_to_string(&mut text)?;
        Ok(text)
    }
    let client = TestClient::new(
        Router::new()
            .post("/bytes", |body: Bytes| body)
            .post("/vec", |body: Vec<u8>| body)
            .post("/string", |body: String| body)
            .post("/stream", stream)
            .post("/request", |request: &mut Request| request.bytes().map_err(|error| error.status())),
    );
    for path in ["/bytes", "/vec", "/string", "/stream", "/request"] {
        assert_eq!(client.post(path).body("text").send().text(), "text", "{path}");
        assert_eq!(client.post(path).send().text(), "", "{path}");
    }
    let broken = client.post("/string").body(vec![0xff]).send();
    assert_eq!(detail(&broken), (400, "the body is not UTF-8".to_owned()));
}

#[test]
fn a_body_over_its_limit_is_refused() {
    use tayet::{BodyLimit, Handler};
    let client = TestClient::new(
        Router::new()
            .post("/inner", (|body: Bytes| body).max_body_bytes(4))
            .post("/outer", |body: Bytes| body)
            .layer(BodyLimit::bytes(2)),
    );
    assert_eq!(client.post("/inner").body("1234").send().status(), 200);
    assert_eq!(
        detail(&client.post("/inner").body("12345").send()),
        (413, "the body is larger than 4 bytes".to_owned())
    );
    assert_eq!(client.post("/outer").body("123").send().status(), 413);
}

#[test]
fn parts_of_the_head_are_there() {
    fn head(method: Method, uri: Uri, version: Version, headers: HeaderMap, host: Host) -> String {
        format!("{method} {uri} {version:?} {} {}", headers["x-a"].to_str().unwrap(), host.0)
    }
    let client = TestClient::new(
        Router::new()
            .get("/head", head)
            .get("/remote", |RemoteAddr(remote): RemoteAddr| remote.to_string())
            .get("/scheme", |Scheme(scheme): Scheme| scheme.to_string())
            .get("/server", |server: Option<ServerHandle>| server.is_none().to_string())
            .get("/missing", |_: Extension<u8>| "")
            .get("/optional", |extension: Option<Extension<u8>>| extension.is_none().to_string()),
    );
    let request = client.get("/head?q").header("X-A", "1").header("Host", "a.example:81");
    assert_eq!(request.send().text(), "GET /head?q HTTP/1.1 1 a.example:81");
    let remote = "192.0.2.1:80".parse().unwrap();
    assert_eq!(client.get("/remote").remote_addr(remote).send().text(), "192.0.2.1:80");
    assert_eq!(client.get("/scheme").send().text(), "http");
    assert_eq!(client.get("/server").send().text(), "true");
    assert_eq!(detail(&client.get("/missing").send()), (500, String::new()));
    assert_eq!(client.get("/optional").send().text(), "true");
}

#[test]
fn cookies_are_read_set_and_forgotten() {
    fn change(mut cookies: Cookies) -> (Cookies, String) {
        let seen = format!("{:?} {:?}", cookies.get("a"), cookies.get("b"));
        cookies.remove("a");
        cookies.add(Cookie::new("c", "x y;z"));
        (cookies, seen)
    }
    let client = TestClient::new(Router::new().get("/", change));
    let response = client.get("/").header("Cookie", "a=1; =; b=%C3%BC").send();
    assert_eq!(response.text(), r#"Some("1") Some("ü")"#);
    let mut set: Vec<&str> =
        response.headers().get_all("set-cookie").iter().map(|value| value.to_str().unwrap()).collect();
    set.sort_unstable();
    assert_eq!(set.len(), 2);
    assert!(set[0].starts_with("a=; Max-Age=0; Expires="), "{set:?}");
    assert_eq!(set[1], "c=x%20y%3Bz");
}

#[test]
fn states_of_several_routers_stay_apart() {
    fn number(State(number): State<u32>) -> String {
        number.to_string()
    }
    fn text(State(text): State<&'static str>) -> &'static str {
        text
    }
    let numbers = Router::new().get("/number", number).with_state(7);
    let texts = Router::new().get("/text", text).with_state("seven");
    let client = TestClient::new(numbers.merge(texts));
    assert_eq!(client.get("/number").send().text(), "7");
    assert_eq!(client.get("/text").send().text(), "seven");
}

#[test]
fn eight_extractors_are_not_too_many() {
    #[expect(clippy::too_many_arguments, reason = "eight extractors are what is tested")]
    fn all(
        _: Method,
        _: Uri,
        _: Version,
        _: HeaderMap,
        _: RemoteAddr,
        _: Cookies,
        Path(a): Path<String>,
        body: String,
    ) -> String {
        format!("{a} {body}")
    }
    let client = TestClient::new(Router::new().post("/{a}", all));
    assert_eq!(client.post("/x").body("y").send().text(), "x y");
}

#[test]
fn the_first_rejection_answers_and_the_handler_is_not_called() {
    fn never(_: Path<u8>, _: Json<u8>) -> StatusCode {
        unreachable!("a rejection answers")
    }
    let client = TestClient::new(Router::new().post("/{n}", never));
    assert_eq!(client.post("/x").json("1").send().status(), 400);
    assert_eq!(client.post("/1").send().status(), 415);
    let text = client.post("/x").header("Accept", "text/html").send();
    assert_eq!(text.header("content-type"), Some("text/plain; charset=utf-8"));
    assert!(text.text().starts_with("400 Bad Request: the path: `n`"), "{}", text.text());
}
