//! Who asks, when proxies say so.

use std::net::SocketAddr;

use tayet::testing::TestClient;
use tayet::{ForwardedFields, Host, RemoteAddr, Router, Scheme, TrustedProxies};

/// Whom a request is from, for which host and how.
fn seen(proxies: TrustedProxies, remote: Option<&str>, fields: &[(&str, &str)]) -> String {
    fn who(RemoteAddr(remote): RemoteAddr, Host(host): Host, Scheme(scheme): Scheme) -> String {
        format!("{remote} {host} {scheme}")
    }
    let client = TestClient::new(Router::new().get("/", who).layer(proxies));
    let request = fields.iter().fold(client.get("/"), |request, (name, value)| request.header(name, value));
    let request = match remote {
        Some(remote) => request.remote_addr(remote.parse::<SocketAddr>().unwrap()),
        None => request,
    };
    request.send().text().to_owned()
}

fn proxies() -> TrustedProxies {
    TrustedProxies::new(["10.0.0.0/8", "192.0.2.1", "2001:db8::/32"]).unwrap()
}

const PROXY: &str = "10.0.0.1:4000";

#[test]
fn x_forwarded_is_read_from_its_end_up_to_the_first_stranger() {
    for (remote, fields, expected) in [
        (PROXY, vec![], "10.0.0.1:4000 localhost http"),
        (PROXY, vec![("X-Forwarded-For", "198.51.100.7")], "198.51.100.7:0 localhost http"),
        (PROXY, vec![("X-Forwarded-For", "198.51.100.7:81")], "198.51.100.7:81 localhost http"),
        (PROXY, vec![("X-Forwarded-For", "6.6.6.6, 198.51.100.7")], "198.51.100.7:0 localhost http"),
        (
            PROXY,
            vec![("X-Forwarded-For", "198.51.100.7, 192.0.2.1,10.9.9.9")],
            "198.51.100.7:0 localhost http",
        ),
        (
            PROXY,
            vec![("X-Forwarded-For", "6.6.6.6"), ("X-Forwarded-For", "198.51.100.7")],
            "198.51.100.7:0 localhost http",
        ),
        (PROXY, vec![("X-Forwarded-For", "10.0.0.2, 10.0.0.3")], "10.0.0.2:0 localhost http"),
        (PROXY, vec![("X-Forwarded-For", "198.51.100.7, unknown")], "10.0.0.1:4000 localhost http"),
        (
            PROXY,
            vec![("X-Forwarded-For", "2001:db8::9"), ("X-Forwarded-Proto", "https")],
            "[2001:db8::9]:0 localhost https",
        ),
        (
            PROXY,
            vec![("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "a.example")],
            "10.0.0.1:4000 a.example https",
        ),
        (PROXY, vec![("X-Forwarded-Proto", "javascript")], "10.0.0.1:4000 localhost http"),
        (PROXY, vec![("X-Forwarded-Host", "\"><script>")], "10.0.0.1:4000 localhost http"),
        (
            PROXY,
            vec![
                ("X-Forwarded-For", "6.6.6.6, 198.51.100.7, 10.0.0.2"),
                ("X-Forwarded-Proto", "evil, https, http"),
                ("X-Forwarded-Host", "evil.example, a.example, inner"),
            ],
            "198.51.100.7:0 a.example https",
        ),
        ("198.51.100.9:1", vec![("X-Forwarded-For", "6.6.6.6")], "198.51.100.9:1 localhost http"),
        ("[::ffff:10.0.0.1]:1", vec![("X-Forwarded-For", "198.51.100.7")], "198.51.100.7:0 localhost http"),
        (PROXY, vec![("Forwarded", "for=6.6.6.6")], "10.0.0.1:4000 localhost http"),
    ] {
        assert_eq!(seen(proxies(), Some(remote), &fields), expected, "{remote} {fields:?}");
    }
}

#[test]
fn forwarded_is_read_likewise() {
    for (value, expected) in [
        ("for=198.51.100.7;proto=https;host=a.example", "198.51.100.7:0 a.example https"),
        ("For=\"[2001:db9::1]:81\"", "[2001:db9::1]:81 localhost http"),
        (
            "for=6.6.6.6, for=198.51.100.7;host=a.example, for=10.0.0.2;host=inner",
            "198.51.100.7:0 a.example http",
        ),
        ("for=198.51.100.7, for=_hidden;proto=https", "10.0.0.1:4000 localhost https"),
        ("for=198.51.100.7, for=\"10.0.0.2", "10.0.0.1:4000 localhost http"),
        ("", "10.0.0.1:4000 localhost http"),
    ] {
        let fields = [("Forwarded", value), ("X-Forwarded-For", "6.6.6.6")];
        let proxies = proxies().read(ForwardedFields::Forwarded);
        assert_eq!(seen(proxies, Some(PROXY), &fields), expected, "{value}");
    }
}

#[test]
fn a_unix_socket_is_trusted_only_by_name() {
    let fields = [("X-Forwarded-For", "198.51.100.7")];
    assert_eq!(seen(proxies(), None, &fields), "unix: localhost http");
    assert_eq!(seen(proxies().trust_unix(), None, &fields), "198.51.100.7:0 localhost http");
}

#[test]
fn what_is_no_network_is_named() {
    for text in ["10.0.0.0/33", "example.com", ""] {
        let error = TrustedProxies::new(["10.0.0.0/8", text]).unwrap_err().to_string();
        assert!(error.contains(&format!("'{text}'")), "{error}");
    }
}
