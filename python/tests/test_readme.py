"""What the README shows does what it says."""

import pathlib
import re

from client import TIMEOUT_SECONDS
from websockets.sync.client import connect

README = pathlib.Path(__file__).parents[1] / "README.md"


def example(heading):
    """The names that the Python code below a heading defines."""
    section = README.read_text().split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    names = {}
    exec(compile(code, str(README), "exec"), names)
    return names


def test_the_chat_is_one(serve_unvalidated):
    client = serve_unvalidated(example("WebSockets")["app"])
    assert client.get().body == b"this is a chat"

    def join(path):
        return connect(f"ws://{client.host}{path}", open_timeout=TIMEOUT_SECONDS)

    with join("/") as connection:
        connection.send("hello")
        assert connection.recv(TIMEOUT_SECONDS) == "hello"
    with join("/room") as first:
        assert first.recv(TIMEOUT_SECONDS) == "somebody has come"
        with join("/room") as second:
            second.send("good evening")
            for member in (first, second):
                assert member.recv(TIMEOUT_SECONDS) == "somebody has come"
                assert member.recv(TIMEOUT_SECONDS) == "good evening"
        assert first.recv(TIMEOUT_SECONDS) == "somebody has gone"
