//! Behind a reverse proxy: who asks, for which host and by which scheme, and nobody can pretend.
//!
//! Only proxies that are named are believed, and only what the nearest of them saw itself.
//!
//! ```console
//! $ cargo run --example 15_behind_a_proxy
//! $ curl -H 'X-Forwarded-For: 203.0.113.7' -H 'X-Forwarded-Proto: https' http://127.0.0.1:8080/
//! 203.0.113.7 asks https for 127.0.0.1:8080
//! $ curl -H 'X-Forwarded-For: 198.51.100.66, 203.0.113.7' http://127.0.0.1:8080/
//! 203.0.113.7 asks http for 127.0.0.1:8080
//! ```

use tayet::{Host, PeerAddress, RemoteAddr, Router, Scheme, Server, TrustedProxies};

fn who(RemoteAddr(remote): RemoteAddr, Host(host): Host, Scheme(scheme): Scheme) -> String {
    match remote {
        PeerAddress::Ip(address) => format!("{} asks {scheme} for {host}\n", address.ip()),
        PeerAddress::Unix => format!("somebody on this machine asks {scheme} for {host}\n"),
    }
}

fn main() -> tayet::Result {
    let port = std::env::var("PORT").unwrap_or("8080".to_owned());
    println!("http://127.0.0.1:{port}/");
    let proxies = TrustedProxies::new(["127.0.0.1", "10.0.0.0/8"])?;
    let app = Router::new().get("/", who).layer(proxies);
    Server::new(app).bind(format!("127.0.0.1:{port}"))?.run()
}
