"""What the application is asked (PEP 3333, "environ Variables")."""

import json

import pytest


def tell(environ, start_response):
    """Answers with the environ's texts and flags."""
    shown = {name: value for name, value in environ.items() if isinstance(value, (str, bool, tuple))}
    body = json.dumps(shown).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]


@pytest.fixture
def ask(serve):
    client = serve(tell)
    return lambda *args, **kwargs: json.loads(client.get(*args, **kwargs).body)


def test_the_request_line_is_told(ask):
    environ = ask("/a/b%20c?x=1&y=%20")
    assert environ["REQUEST_METHOD"] == "GET"
    assert environ["SCRIPT_NAME"] == ""
    assert environ["PATH_INFO"] == "/a/b c"
    assert environ["QUERY_STRING"] == "x=1&y=%20"
    assert environ["RAW_URI"] == environ["REQUEST_URI"] == "/a/b%20c?x=1&y=%20"
    assert environ["SERVER_PROTOCOL"] == "HTTP/1.1"


def test_a_paths_bytes_are_characters_of_latin_1(ask):
    assert ask("/%C3%A9%2F%FF")["PATH_INFO"] == "/\u00c3\u00a9/\u00ff"


def test_any_method_is_told(ask):
    assert ask(method="PROPFIND")["REQUEST_METHOD"] == "PROPFIND"


def test_without_a_query_it_is_empty(ask):
    assert ask("/")["QUERY_STRING"] == ""


def test_both_ends_are_told(ask):
    environ = ask()
    assert environ["REMOTE_ADDR"] == "127.0.0.1"
    assert environ["REMOTE_PORT"].isdigit()
    assert environ["SERVER_NAME"] == "127.0.0.1"
    assert environ["SERVER_PORT"].isdigit()


def test_the_servers_own_keys_are_there(ask):
    environ = ask()
    assert environ["wsgi.version"] == [1, 0]
    assert environ["wsgi.url_scheme"] == "http"
    assert environ["wsgi.multithread"] is True
    assert environ["wsgi.multiprocess"] is False
    assert environ["wsgi.run_once"] is False
    assert environ["wsgi.input_terminated"] is True


def test_header_fields_are_told(ask):
    environ = ask(headers={"X-Some-Thing": "a", "User-Agent": "me", "Content-Type": "text/x"})
    assert environ["HTTP_X_SOME_THING"] == "a"
    assert environ["HTTP_USER_AGENT"] == "me"
    assert environ["CONTENT_TYPE"] == "text/x"
    assert "HTTP_CONTENT_TYPE" not in environ
    assert "CONTENT_LENGTH" not in environ


def test_a_bodys_length_is_told(ask):
    environ = ask(method="POST", body=b"abc")
    assert environ["CONTENT_LENGTH"] == "3"
    assert "HTTP_CONTENT_LENGTH" not in environ


def test_repeated_fields_are_joined(serve):
    raw = b"GET / HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nx-a: 2\r\nCookie: a=1\r\nCookie: b=2\r\nConnection: close\r\n\r\n"
    environ = json.loads(serve(tell).raw(raw).partition(b"\r\n\r\n")[2])
    assert environ["HTTP_X_A"] == "1,2"
    assert environ["HTTP_COOKIE"] == "a=1; b=2"


def test_a_name_with_an_underscore_cannot_pass_for_another(ask):
    environ = ask(headers={"X_Forwarded_For": "evil", "X-Real": "good"})
    assert "HTTP_X_FORWARDED_FOR" not in environ
    assert environ["HTTP_X_REAL"] == "good"


def test_a_proxy_field_cannot_pass_for_a_setting(ask):
    assert "HTTP_PROXY" not in ask(headers={"Proxy": "evil:80"})


def test_a_value_beyond_ascii_is_latin_1(serve):
    raw = b"GET / HTTP/1.0\r\nHost: h\r\nX-Name: J\xf6rg\r\n\r\n"
    environ = json.loads(serve(tell).raw(raw).partition(b"\r\n\r\n")[2])
    assert environ["HTTP_X_NAME"] == "J\u00f6rg"
    assert environ["SERVER_PROTOCOL"] == "HTTP/1.0"


def test_an_absolute_targets_host_prevails(serve):
    raw = b"GET http://real.example/p?q HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n"
    environ = json.loads(serve(tell).raw(raw).partition(b"\r\n\r\n")[2])
    assert environ["HTTP_HOST"] == "real.example"
    assert environ["PATH_INFO"] == "/p"


def test_more_names_than_are_remembered_are_told_all_the_same(ask):
    for first in range(0, 600, 60):
        fields = {f"X-Name-{number}": str(number) for number in range(first, first + 60)}
        environ = ask(headers=fields)
        assert all(environ[f"HTTP_X_NAME_{number}"] == str(number) for number in range(first, first + 60))


def test_each_request_has_its_own_fields(ask):
    for fields in ({"X-A": "1"}, {"x-a": "2"}, {"X-B": "1"}, {"X-A": "1" * 1000}, {"X-A": "1"}, {"X-A": ""}):
        environ = ask(headers=fields)
        told = {name: value for name, value in environ.items() if name.startswith("HTTP_X")}
        assert told == {"HTTP_" + name.upper().replace("-", "_"): value for name, value in fields.items()}


def test_fields_that_are_remembered_in_one_place_are_told_apart(ask):
    # Names that begin and end alike, and are as long.
    fields = {"X-a-name": "1", "X-b-name": "2", "X-c-name": "3"}
    for _ in range(2):
        environ = ask(headers=fields)
        assert [environ[f"HTTP_X_{letter}_NAME"] for letter in "ABC"] == ["1", "2", "3"]


def test_a_trusted_proxys_word_counts(serve):
    client = serve(tell, trusted_proxies="127.0.0.1")
    headers = {"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Proto": "https"}
    environ = json.loads(client.get(headers=headers).body)
    assert environ["REMOTE_ADDR"] == "192.0.2.7"
    assert environ["wsgi.url_scheme"] == "https"


def test_each_of_a_proxys_clients_is_told(serve):
    client = serve(tell, trusted_proxies="127.0.0.1")
    for address in ("192.0.2.7", "192.0.2.23", "2001:db8::7", "192.0.2.7"):
        assert json.loads(client.get(headers={"X-Forwarded-For": address}).body)["REMOTE_ADDR"] == address


def test_a_strangers_word_does_not(ask):
    environ = ask(headers={"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Proto": "https"})
    assert environ["REMOTE_ADDR"] == "127.0.0.1"
    assert environ["wsgi.url_scheme"] == "http"


def test_each_request_has_an_environ_of_its_own(serve_unvalidated):
    def application(environ, start_response):
        assert "mine" not in environ
        environ["mine"] = environ["wsgi.version"] = "changed"
        start_response("204 No Content", [])
        return []

    client = serve_unvalidated(application)
    assert [client.get().status for _ in range(3)] == [204] * 3
