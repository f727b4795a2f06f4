"""Servers in this process, and what they log."""

import contextlib
import wsgiref.validate

import pytest
import tayet
from client import Client
from process import Command


@pytest.fixture(params=["plain", "validated"])
def serve(request):
    """Serves an application as it is, and once more behind the standard library's validator of PEP 3333."""
    with contextlib.ExitStack() as stack:

        def begin(application, **settings):
            if request.param == "validated":
                application = wsgiref.validate.validator(application)
            return stack.enter_context(running(application, **settings))

        yield begin


@pytest.fixture
def serve_unvalidated():
    """Serves an application that is wrong on purpose, or does what the validator refuses and PEP 3333 does not."""
    with contextlib.ExitStack() as stack:
        yield lambda application, **settings: stack.enter_context(running(application, **settings))


@pytest.fixture
def directory(request, tmp_path):
    """Where commands run. The test module's ``APP`` lies there, to be served."""
    (tmp_path / "served.py").write_text(request.module.APP)
    return tmp_path


@pytest.fixture
def serving(command):
    """Starts the command on what lies in ``directory``."""
    return lambda *arguments, **kwargs: command("served:app", "-b", "127.0.0.1:0", *arguments, **kwargs)


@pytest.fixture
def command(directory):
    with contextlib.ExitStack() as stack:

        def start(*arguments, **kwargs):
            started = Command(directory, *arguments, **kwargs)
            stack.callback(started.stop)
            return started

        yield start


@contextlib.contextmanager
def running(application, **settings):
    server = tayet.start(application, "127.0.0.1:0", **settings)
    try:
        yield Client(server.addresses[0])
    finally:
        server.shutdown()
        assert server.join(), "a thread is left in the application"
