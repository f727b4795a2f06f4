//! A form that logs in, and a cookie that remembers it.
//!
//! ```console
//! $ cargo run --example 08_forms_and_cookies
//! $ curl -s http://127.0.0.1:8080/ | grep -o '<form.*>'
//! <form method="post" action="/login">
//! $ curl -s -i -d name=Ada http://127.0.0.1:8080/login | grep -iE 'location|set-cookie'
//! location: /
//! set-cookie: name=Ada; HttpOnly; SameSite=Lax; Path=/
//! $ curl -b name=Ada http://127.0.0.1:8080/
//! <p>Welcome back, Ada!</p>
//! ```

use serde::Deserialize;
use tayet::cookie::SameSite;
use tayet::{Cookie, Cookies, Form, Html, Redirect, Router, Server};

const LOGIN: &str = r#"<!doctype html>
<title>Log in</title>
<form method="post" action="/login">
  <label>Your name <input name="name" required></label>
  <button>Log in</button>
</form>
"#;

fn home(cookies: Cookies) -> Html<String> {
    match cookies.get("name") {
        Some(name) => Html(format!("<p>Welcome back, {}!</p>\n", escaped(name))),
        None => Html(LOGIN.to_owned()),
    }
}

#[derive(Deserialize)]
struct Login {
    name: String,
}

fn login(mut cookies: Cookies, Form(login): Form<Login>) -> (Cookies, Redirect) {
    let cookie = Cookie::build(("name", login.name)).path("/").http_only(true).same_site(SameSite::Lax);
    cookies.add(cookie);
    (cookies, Redirect::to("/"))
}

/// A cookie is what the client makes it: it may hold anything.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn main() -> tayet::Result {
    let port = std::env::var("PORT").unwrap_or("8080".to_owned());
    println!("http://127.0.0.1:{port}/");
    let app = Router::new().get("/", home).post("/login", login);
    Server::new(app).bind(format!("127.0.0.1:{port}"))?.run()
}
