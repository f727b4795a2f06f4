//! Files over HTTP: what is served, and what is not.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, SystemTime};

use tayet::files::Symlinks;
use tayet::testing::{TestClient, TestResponse};
use tayet::{Files, Method, Response, Router, Server, StatusCode};
use tempfile::TempDir;

const LONG: Duration = Duration::from_secs(3_600);

/// A directory with these files, last changed long enough ago to be held.
fn tree(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    files.iter().for_each(|(path, text)| write(directory.path(), path, text, LONG));
    directory
}

fn write(root: &Path, path: &str, text: &str, age: Duration) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    File::options().write(true).open(path).unwrap().set_modified(SystemTime::now() - age).unwrap();
}

fn client(files: Files) -> TestClient {
    TestClient::new(Router::new().fallback(files))
}

fn get(files: Files, path: &str, fields: &[(&str, &str)]) -> TestResponse {
    let client = client(files);
    fields.iter().fold(client.get(path), |request, (name, value)| request.header(name, value)).send()
}

#[test]
fn a_file_comes_with_all_that_is_known_of_it() {
    let tree = tree(&[("a b/page.html", "<p>hello")]);
    let response = get(Files::new(tree.path()), "/a%20b/page.html", &[]);
    assert_eq!((response.status(), response.text()), (StatusCode::OK, "<p>hello"));
    assert_eq!(response.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(response.header("accept-ranges"), Some("bytes"));
    let etag = response.header("etag").unwrap();
    assert!(etag.starts_with('"') && etag.ends_with('"'), "{etag} is a strong entity tag");
    let modified = httpdate::parse_http_date(response.header("last-modified").unwrap()).unwrap();
    assert!(modified <= SystemTime::now() - LONG + Duration::from_secs(60));
    assert_eq!((response.header("cache-control"), response.header("vary")), (None, None));
}

#[test]
fn only_what_lies_below_the_directory_is_served() {
    let outside =
        tree(&[("secret", "secret"), ("root/a.txt", "a"), ("root/.env", "key"), ("root/.git/config", "x")]);
    let root = outside.path().join("root");
    symlink("../secret", root.join("link")).unwrap();
    symlink(outside.path(), root.join("up")).unwrap();
    symlink("a.txt", root.join("inner")).unwrap();
    let absolute = format!("/{}", outside.path().join("secret").display());
    for path in [
        "/../secret",
        "/%2e%2e/secret",
        "/..%2fsecret",
        "/%2e%2e%2fsecret",
        "/a.txt/../../secret",
        "/./a.txt",
        "//a.txt",
        "/a.txt%00",
        "/%00",
        "/a.txt/",
        "/.env",
        "/%2eenv",
        "/.git/config",
        "/.git",
        "/link",
        "/up/secret",
        "/up",
        "/up/",
        "/nothing",
        absolute.as_str(),
    ] {
        assert_eq!(get(Files::new(&root).list_directories(), path, &[]).status(), 404, "{path}");
    }
    assert_eq!(get(Files::new(&root), "/inner", &[]).text(), "a");
    assert_eq!(get(Files::new(&root).symlinks(Symlinks::Refuse), "/inner", &[]).status(), 404);
    assert_eq!(get(Files::new(&root).symlinks(Symlinks::Follow), "/link", &[]).text(), "secret");
    assert_eq!(get(Files::new(&root).show_dotfiles(), "/.env", &[]).text(), "key");
}

#[test]
fn what_is_no_file_is_not_there() {
    let tree = tree(&[]);
    let pipe = tree.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(tree.path().join("socket")).unwrap();
    for path in ["/pipe", "/socket"] {
        assert_eq!(get(Files::new(tree.path()), path, &[]).status(), 404, "{path}");
    }
}

#[test]
fn a_directory_is_served_by_its_index() {
    let tree = tree(&[
        ("index.html", "top"),
        ("docs/index.html", "docs"),
        ("docs/readme.txt", "read"),
        ("empty/a", "a"),
    ]);
    let files = || Files::new(tree.path());
    assert_eq!(get(files(), "/", &[]).text(), "top");
    assert_eq!(get(files(), "/docs/", &[]).text(), "docs");
    assert_eq!(get(files(), "/empty/", &[]).status(), 404);
    assert_eq!(get(files().indexes(["nothing", "readme.txt"]), "/docs/", &[]).text(), "read");
    assert_eq!(get(files().indexes::<&str>([]), "/docs/", &[]).status(), 404);
    for (path, location) in [("/docs", "./docs/"), ("/docs?a=b", "./docs/?a=b"), ("/empty", "./empty/")] {
        let response = get(files(), path, &[]);
        assert_eq!(
            (response.status().as_u16(), response.header("location")),
            (308, Some(location)),
            "{path}"
        );
    }
}

#[test]
fn the_prefix_is_left_out_wherever_it_is_mounted() {
    let tree = tree(&[("index.html", "top"), ("css/a.css", "a{}")]);
    let files = || Files::new(tree.path());
    let client = TestClient::new(
        Router::new()
            .nest("/assets", files())
            .get("/static/{*path}", files())
            .nest("/of/{user}", files())
            .fallback(files()),
    );
    for prefix in ["", "/assets", "/static", "/of/ada"] {
        assert_eq!(client.get(&format!("{prefix}/css/a.css")).send().text(), "a{}", "{prefix}");
    }
    for prefix in ["", "/assets", "/of/ada"] {
        assert_eq!(client.get(&format!("{prefix}/")).send().text(), "top", "{prefix}");
    }
    let response = client.get("/assets").send();
    assert_eq!((response.status().as_u16(), response.header("location")), (308, Some("./assets/")));
}

#[test]
fn files_are_only_read() {
    let tree = tree(&[("a", "a")]);
    let client = client(Files::new(tree.path()));
    for (method, status) in [(Method::POST, 405), (Method::DELETE, 405), (Method::OPTIONS, 204)] {
        let response = client.request(method.clone(), "/a").send();
        assert_eq!(
            (response.status().as_u16(), response.header("allow")),
            (status, Some("GET, HEAD, OPTIONS")),
            "{method}"
        );
    }
    let head = client.request(Method::HEAD, "/a").send();
    assert_eq!((head.status().as_u16(), head.bytes()), (200, &b""[..]));
    assert_eq!(head.header("etag"), client.get("/a").send().header("etag"));
}

#[test]
fn conditions_are_answered() {
    let tree = tree(&[("a.txt", "0123456789")]);
    let files = || Files::new(tree.path()).cache_control("*", "no-cache");
    let response = get(files(), "/a.txt", &[]);
    let (etag, modified) = (response.header("etag").unwrap(), response.header("last-modified").unwrap());
    for (fields, status) in [
        (&[("If-None-Match", etag)][..], 304),
        (&[("If-None-Match", "\"other\"")], 200),
        (&[("If-Modified-Since", modified)], 304),
        (&[("If-Match", "\"other\"")], 412),
        (&[("If-Match", "\"other\""), ("Range", "bytes=0-1")], 412),
        (&[("If-None-Match", etag), ("Range", "bytes=0-1")], 304),
        (&[("If-None-Match", "\"other\""), ("Range", "bytes=0-1")], 206),
        (&[("If-Range", etag), ("Range", "bytes=0-1")], 206),
        (&[("If-Range", modified), ("Range", "bytes=0-1")], 206),
        (&[("If-Range", "\"other\""), ("Range", "bytes=0-1")], 200),
        (&[("If-Range", "\"other\""), ("Range", "bytes=99-")], 200),
    ] {
        let response = get(files(), "/a.txt", fields);
        assert_eq!(response.status().as_u16(), status, "{fields:?}");
        if status == 304 {
            assert_eq!(
                (response.header("etag"), response.header("cache-control")),
                (Some(etag), Some("no-cache"))
            );
            assert_eq!((response.header("content-type"), response.bytes()), (None, &b""[..]));
        }
    }
}

#[test]
fn one_range_is_a_part() {
    let tree = tree(&[("a.txt", "0123456789"), ("empty", "")]);
    let held = || Files::new(tree.path());
    let sent = || Files::new(tree.path()).max_cached_file_bytes(0);
    for (range, status, part, content_range) in [
        ("bytes=2-4", 206, "234", Some("bytes 2-4/10")),
        ("bytes=7-", 206, "789", Some("bytes 7-9/10")),
        ("bytes=-2", 206, "89", Some("bytes 8-9/10")),
        ("bytes=0-1,2-3", 206, "0123", Some("bytes 0-3/10")),
        ("bytes=0-99", 206, "0123456789", Some("bytes 0-9/10")),
        ("bytes=x", 200, "0123456789", None),
        ("chars=0-1", 200, "0123456789", None),
    ] {
        for files in [held(), sent()] {
            let response = get(files, "/a.txt", &[("Range", range)]);
            assert_eq!((response.status().as_u16(), response.text()), (status, part), "{range}");
            assert_eq!(response.header("content-range"), content_range, "{range}");
            assert_eq!(response.header("content-type"), Some("text/plain; charset=utf-8"));
        }
    }
    let response = get(held(), "/a.txt", &[("Range", "bytes=10-")]);
    assert_eq!((response.status().as_u16(), response.header("content-range")), (416, Some("bytes */10")));
    assert_eq!(get(held(), "/empty", &[("Range", "bytes=0-")]).status(), 200);
    let head = client(held()).request(Method::HEAD, "/a.txt").header("Range", "bytes=0-1").send();
    assert_eq!((head.status().as_u16(), head.header("content-range")), (200, None), "ranges are for GET");
}

/// What a server sends to a request on a connection of its own.
fn over_the_wire(files: Files, fields: &str) -> (String, String) {
    let server = Server::new(Router::new().fallback(files)).bind("127.0.0.1:0").unwrap().start().unwrap();
    let mut connection = TcpStream::connect(server.addresses()[0].to_string()).unwrap();
    write!(connection, "GET /a.txt HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{fields}\r\n").unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    server.shutdown();
    server.join();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_ascii_lowercase(), body.to_owned())
}

#[test]
fn several_ranges_are_a_multipart() {
    let text: String = (0..100).map(|n| format!("{n:02}........")).collect();
    let tree = tree(&[("a.txt", &text)]);
    let files = || Files::new(tree.path());
    for files in [files(), files().max_cached_file_bytes(0)] {
        let (head, body) = over_the_wire(files, "Range: bytes=0-1,500-501,-10\r\n");
        assert!(head.starts_with("http/1.1 206 "), "{head}");
        let boundary =
            head.split_once("multipart/byteranges; boundary=").unwrap().1.split("\r\n").next().unwrap();
        let part = |range: &str, text: &str| {
            format!(
                "--{boundary}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Range: bytes {range}/1000\r\n\r\n{text}\r\n"
            )
        };
        let parts = [part("0-1", "00"), part("500-501", "50"), part("990-999", "99........")].concat();
        assert_eq!(body, format!("{parts}--{boundary}--\r\n"));
        assert!(head.lines().any(|line| line == format!("content-length: {}", body.len())), "{head}");
        assert!(!head.contains("content-range"), "each part has its own");
    }
}

#[test]
fn an_encoded_sibling_goes_to_those_who_take_it() {
    let tree = tree(&[
        ("a.js", "plain"),
        ("a.js.br", "brotli"),
        ("a.js.gz", "gzip"),
        ("b.js", "alone"),
        ("c.js.gz", "orphan"),
    ]);
    for (accept, text, coding) in [
        ("gzip, deflate, br, zstd", "brotli", Some("br")),
        ("gzip", "gzip", Some("gzip")),
        ("gzip;q=1, br;q=0.5", "gzip", Some("gzip")),
        ("br;q=0, gzip;q=0.1", "gzip", Some("gzip")),
        ("identity, gzip;q=0.5", "plain", None),
        ("*", "brotli", Some("br")),
        ("zstd", "plain", None),
        ("", "plain", None),
    ] {
        let response = get(Files::new(tree.path()), "/a.js", &[("Accept-Encoding", accept)]);
        assert_eq!((response.text(), response.header("content-encoding")), (text, coding), "{accept}");
        assert_eq!(response.header("vary"), Some("accept-encoding"), "{accept}");
        assert_eq!(response.header("content-type"), Some("text/javascript; charset=utf-8"), "{accept}");
    }
    let plain = get(Files::new(tree.path()), "/a.js", &[]);
    let encoded = get(Files::new(tree.path()), "/a.js", &[("Accept-Encoding", "br")]);
    assert_ne!(plain.header("etag"), encoded.header("etag"));
    let part = get(Files::new(tree.path()), "/a.js", &[("Accept-Encoding", "br"), ("Range", "bytes=0-1")]);
    assert_eq!((part.text(), part.header("content-range")), ("br", Some("bytes 0-1/6")));
    let alone = get(Files::new(tree.path()), "/b.js", &[("Accept-Encoding", "br")]);
    assert_eq!((alone.text(), alone.header("vary")), ("alone", None));
    assert_eq!(get(Files::new(tree.path()), "/c.js", &[("Accept-Encoding", "gzip")]).status(), 404);
    let off = get(Files::new(tree.path()).precompressed(false), "/a.js", &[("Accept-Encoding", "br")]);
    assert_eq!((off.text(), off.header("vary")), ("plain", None));
}

#[test]
fn navigations_get_the_application() {
    let tree = tree(&[("index.html", "app"), ("a.js", "js")]);
    let files = || Files::new(tree.path()).spa("index.html");
    for (path, accept, text) in [
        ("/users/7", "*/*", Some("app")),
        ("/users/ada.lovelace", "text/html,*/*;q=0.8", Some("app")),
        ("/users/", "*/*", Some("app")),
        ("/a.js", "*/*", Some("js")),
        ("/missing.js", "*/*", None),
        ("/../secret", "*/*", None),
    ] {
        let response = get(files(), path, &[("Accept", accept)]);
        assert_eq!((response.status() == 200).then(|| response.text()), text, "{path}");
    }
}

#[test]
fn rules_say_what_caches_may_do() {
    let tree = tree(&[("index.html", "x"), ("assets/a.js", "x")]);
    let files = || {
        Files::new(tree.path()).cache_control("/assets/*", "max-age=60").cache_control("*.html", "no-cache")
    };
    assert_eq!(get(files(), "/assets/a.js", &[]).header("cache-control"), Some("max-age=60"));
    assert_eq!(get(files(), "/", &[]).header("cache-control"), Some("no-cache"));
}

#[test]
fn a_listing_shows_what_can_be_fetched() {
    let outside = tree(&[("secret", "s"), ("root/b.txt", "12345"), ("root/a/x", "x"), ("root/.hidden", "h")]);
    let root = outside.path().join("root");
    symlink("../secret", root.join("escaping")).unwrap();
    symlink("b.txt", root.join("staying")).unwrap();
    let files = || Files::new(&root).list_directories();
    let response = get(files(), "/", &[]);
    let page = response.text();
    assert_eq!(response.header("content-type"), Some("text/html; charset=utf-8"));
    for shown in ["href=\"./a/\"", "href=\"./b.txt\"", "href=\"./staying\"", ">5 B<"] {
        assert!(page.contains(shown), "{shown} is not in {page}");
    }
    for hidden in [".hidden", "escaping", "href=\"../\"", "<script", "http:"] {
        assert!(!page.contains(hidden), "{hidden} is in {page}");
    }
    let page = get(files(), "/a/?sort=size&order=descending", &[]);
    assert!(page.text().contains("href=\"../\"") && page.text().contains("aria-sort=\"descending\""));
    assert_eq!(get(files(), "/nothing/", &[]).status(), 404);
}

#[test]
fn what_is_held_is_looked_at_again() {
    let tree = tree(&[("a.txt", "first")]);
    let text = |client: &TestClient| {
        let response = client.get("/a.txt").send();
        (
            response.status().as_u16(),
            response.header("etag").unwrap_or_default().to_owned(),
            response.bytes().to_owned(),
        )
    };
    let lazy = client(Files::new(tree.path()).revalidate_after(LONG));
    let eager = client(Files::new(tree.path()).revalidate_after(Duration::ZERO));
    let first = text(&eager);
    assert_eq!(text(&lazy), first);
    // The same length and time of change, but another file.
    write(tree.path(), "new", "other", LONG);
    let modified = fs::metadata(tree.path().join("a.txt")).unwrap().modified().unwrap();
    File::options().write(true).open(tree.path().join("new")).unwrap().set_modified(modified).unwrap();
    fs::rename(tree.path().join("new"), tree.path().join("a.txt")).unwrap();
    assert_eq!(text(&lazy), first, "it is held, and not due yet");
    let second = text(&eager);
    assert_eq!(second.2, b"other");
    assert_ne!(second.1, first.1);
    write(tree.path(), "a.txt", "third", LONG / 2);
    assert_eq!(text(&eager).2, b"third");
    fs::remove_file(tree.path().join("a.txt")).unwrap();
    assert_eq!(text(&eager).0, 404);
}

#[test]
fn a_file_of_this_moment_is_not_held() {
    let tree = tree(&[]);
    let client = client(Files::new(tree.path()).revalidate_after(LONG));
    for text in ["one", "two"] {
        // Its time of change, which is yet to come, is the same for both.
        let path = tree.path().join("a.txt");
        fs::write(&path, text).unwrap();
        let later = SystemTime::UNIX_EPOCH + Duration::from_secs(4_000_000_000);
        File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
        let response = client.get("/a.txt").send();
        assert_eq!((response.text(), response.header("last-modified")), (text, None));
    }
}

#[test]
fn a_directory_that_is_missing_is_the_servers_fault() {
    let tree = tree(&[]);
    let nowhere = tree.path().join("nowhere");
    assert!(Files::open(&nowhere).is_err());
    assert!(Files::open(tree.path()).is_ok());
    assert_eq!(get(Files::new(&nowhere), "/", &[]).status(), 500);
}

#[test]
fn a_handler_may_answer_with_a_file() {
    let tree = tree(&[("report.txt", "0123456789")]);
    let path = tree.path().join("report.txt");
    let file = move || -> tayet::Result<Response> { Ok(Response::file(&path)?) };
    let (named, missing) = (file.clone(), file.clone());
    let named = move || {
        named().map(|file| {
            file.with_header("content-type", "text/x-report")
                .with_header("etag", "\"mine\"")
                .with_header("x-a", "1")
        })
    };
    let missing = move || missing().map(|file| file.with_status(StatusCode::NOT_FOUND));
    let router = Router::new().get("/", file).get("/named", named).get("/missing", missing);
    let client = TestClient::new(router);
    let response = client.get("/").send();
    assert_eq!((response.status().as_u16(), response.text()), (200, "0123456789"));
    assert_eq!(response.header("content-type"), Some("text/plain; charset=utf-8"));
    let again = client.get("/").header("If-None-Match", response.header("etag").unwrap()).send();
    assert_eq!(again.status(), 304);
    let part = client.get("/").header("Range", "bytes=1-2").send();
    assert_eq!((part.status().as_u16(), part.text()), (206, "12"));
    let named = client.get("/named").send();
    assert_eq!((named.header("content-type"), named.header("x-a")), (Some("text/x-report"), Some("1")));
    assert_eq!(client.get("/named").header("If-None-Match", "\"mine\"").send().status(), 304);
    let missing = client.get("/missing").header("Range", "bytes=1-2").send();
    assert_eq!((missing.status().as_u16(), missing.text()), (404, "0123456789"));
    assert!(missing.header("content-type").is_some());
}
