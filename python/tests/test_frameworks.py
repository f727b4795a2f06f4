"""Real applications."""

import io
import sys

import pytest


@pytest.fixture
def flask_app():
    import flask

    app = flask.Flask(__name__)

    @app.route("/hello/<name>")
    def hello(name):
        return f"Hello, {name}!"

    @app.route("/json", methods=["POST"])
    def json():
        return {"got": flask.request.get_json()}

    @app.route("/upload", methods=["POST"])
    def upload():
        return str(len(flask.request.files["file"].read()))

    @app.route("/stream")
    def stream():
        return flask.Response((f"line {number}\n" for number in range(1000)), mimetype="text/plain")

    @app.route("/file")
    def file():
        return flask.send_file(__file__, mimetype="text/plain", conditional=True)

    @app.route("/fail")
    def fail():
        raise LookupError("in the view")

    return app


def multipart(name, content):
    boundary = b"----boundary"
    head = b'Content-Disposition: form-data; name="%s"; filename="f"\r\n\r\n' % name
    body = b"--" + boundary + b"\r\n" + head + content + b"\r\n--" + boundary + b"--\r\n"
    return body, {"Content-Type": "multipart/form-data; boundary=" + boundary.decode()}


def test_flask(serve_unvalidated, flask_app, caplog):
    client = serve_unvalidated(flask_app)
    assert client.get("/hello/W%C3%B6rld").text == "Hello, W\u00f6rld!"
    assert client.post("/json", b'{"a": 1}', {"Content-Type": "application/json"}).text.strip() == '{"got":{"a":1}}'
    body, headers = multipart(b"file", b"x" * 3_000_000)
    assert client.post("/upload", body, headers).text == "3000000"
    assert client.get("/stream").text == "".join(f"line {number}\n" for number in range(1000))
    with open(__file__, "rb") as file:
        source = file.read()
    answer = client.get("/file")
    assert answer.body == source
    assert client.get("/file", {"Range": "bytes=0-9"}).body == source[:10]
    assert client.get("/file", {"If-None-Match": answer.headers["ETag"]}).status == 304
    assert client.get("/fail").status == 500
    assert "LookupError: in the view" in caplog.text
    assert client.get("/none").status == 404
    head = client.get("/hello/x", method="HEAD")
    assert (head.headers["Content-Length"], head.body) == ("9", b"")


@pytest.fixture(scope="session")
def django_app(tmp_path_factory):
    import django
    from django.conf import settings
    from django.http import FileResponse, HttpResponse, StreamingHttpResponse
    from django.urls import path

    tmp_path = tmp_path_factory.mktemp("static")
    (tmp_path / "app.css").write_text("body { color: teal }")

    def upload(request):
        return HttpResponse(str(sum(len(chunk) for chunk in request.FILES["file"].chunks())))

    urls = type(sys)("tayet_test_urls")
    urls.urlpatterns = [
        path("hello/<str:name>", lambda request, name: HttpResponse(f"Hello, {name}!")),
        path("stream", lambda request: StreamingHttpResponse(b"%d\n" % number for number in range(1000))),
        path("file", lambda request: FileResponse(open(__file__, "rb"))),
        path("upload", upload),
    ]
    sys.modules[urls.__name__] = urls
    settings.configure(
        ALLOWED_HOSTS=["*"],
        ROOT_URLCONF=urls.__name__,
        SECRET_KEY="of no use",
        MIDDLEWARE=["django.middleware.common.CommonMiddleware"],
        INSTALLED_APPS=["django.contrib.staticfiles"],
        STATIC_URL="/static/",
        STATICFILES_DIRS=[str(tmp_path)],
        DEBUG=True,
    )
    django.setup()
    from django.contrib.staticfiles.handlers import StaticFilesHandler
    from django.core.wsgi import get_wsgi_application

    return StaticFilesHandler(get_wsgi_application())


def test_django(serve, django_app):
    client = serve(django_app)
    assert client.get("/hello/W%C3%B6rld").text == "Hello, W\u00f6rld!"
    assert client.get("/stream").text == "".join(f"{number}\n" for number in range(1000))
    assert client.get("/static/app.css").text == "body { color: teal }"
    with open(__file__, "rb") as file:
        assert client.get("/file").body == file.read()
    body, headers = multipart(b"file", b"x" * 3_000_000)
    assert client.post("/upload", body, headers).text == "3000000"


def test_bottle(serve_unvalidated):
    import bottle

    app = bottle.Bottle()
    app.route("/hello/<name>", callback=lambda name: f"Hello, {name}!")
    app.route("/body", method="POST", callback=lambda: bottle.request.body.read())
    app.route("/file", callback=lambda: bottle.static_file("test_frameworks.py", root=__file__.rpartition("/")[0]))
    client = serve_unvalidated(app)
    assert client.get("/hello/world").text == "Hello, world!"
    assert client.post("/body", b"x" * 200_000).body == b"x" * 200_000
    assert b"def test_bottle" in client.get("/file").body


def test_falcon(serve):
    import falcon

    class Thing:
        def on_get(self, request, response):
            response.media = {"q": request.get_param("q")}

        def on_post(self, request, response):
            response.data = request.bounded_stream.read()

        def on_put(self, request, response):
            response.stream = io.BytesIO(b"s" * 100_000)

    app = falcon.App()
    app.add_route("/thing", Thing())
    client = serve(app)
    assert client.get("/thing?q=1").text == '{"q": "1"}'
    assert client.post("/thing", b"x" * 200_000).body == b"x" * 200_000
    assert client.get("/thing", method="PUT").body == b"s" * 100_000


def test_pyramid(serve):
    from pyramid.config import Configurator
    from pyramid.response import FileResponse, Response

    with Configurator() as config:
        config.add_route("hello", "/hello/{name}")
        config.add_view(lambda request: Response(f"Hello, {request.matchdict['name']}!"), route_name="hello")
        config.add_route("file", "/file")
        config.add_view(lambda request: FileResponse(__file__, request), route_name="file")
        app = config.make_wsgi_app()
    client = serve(app)
    assert client.get("/hello/world").text == "Hello, world!"
    assert b"def test_pyramid" in client.get("/file").body
