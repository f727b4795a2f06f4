"""Where `tayet uploads` puts files: a directory, or a bucket of a server that speaks as Amazon S3 does."""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from arena import ROOT

BUCKET = "cloth"
PREFIX = "incoming"
ACCESS_KEY, SECRET_KEY = "weaver", "warp-and-weft"
"""The server checks the signatures that are made with them."""
CREDENTIALS = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
TOOLS = ROOT / "target" / "tools" / "bin"


class Directory:
    """The local disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.arguments = [str(path)]

    def files(self) -> dict[str, bytes]:
        """What is finished, by name."""
        return {path.name: path.read_bytes() for path in self._path.iterdir() if path.is_file()}

    def unfinished_bytes(self) -> list[Path]:
        """What holds bytes of uploads that are not finished."""
        return list((self._path / ".uploads").glob("*.data"))


class Bucket:
    """A bucket, and its server, which keeps it in a directory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        (path / BUCKET).mkdir(parents=True)
        self.port = 0
        self._process: subprocess.Popen | None = None
        self.start()

    def start(self) -> None:
        """Starts the server, where it was if it has been started before."""
        program = shutil.which("s3s-fs", path=f"{TOOLS}:{os.environ['PATH']}")
        assert program is not None, "s3s-fs is not installed; `cargo xtask test --only wire` does it"
        keys = ["--access-key", ACCESS_KEY, "--secret-key", SECRET_KEY]
        self._process = subprocess.Popen(
            [program, "--host", "127.0.0.1", "--port", str(self.port), *keys, str(self._path)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "RUST_LOG": "s3s_fs::main=info,s3s_fs=info"},
        )
        for line in self._process.stdout:
            if listening := re.search(r"server is running at http://127\.0\.0\.1:(\d+)", line):
                self.port = int(listening[1])
                break
        else:
            raise AssertionError("the bucket's server ended before it listened")
        # What it logs later must not fill the pipe and block it.
        drain = ["cat"]
        self._drain = subprocess.Popen(drain, stdin=self._process.stdout, stdout=subprocess.DEVNULL)

    def kill(self) -> None:
        """Ends the server whatever it is doing."""
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()
        self._drain.wait()

    @property
    def arguments(self) -> list[str]:
        return [f"s3://{BUCKET}/{PREFIX}", "--s3-endpoint", f"http://127.0.0.1:{self.port}"]

    def files(self) -> dict[str, bytes]:
        """What is finished, by the names that clients gave."""
        paths = (self._path / BUCKET / PREFIX).glob("*/*")
        return {path.name: path.read_bytes() for path in paths if path.parent.name != ".uploads"}

    def unfinished_bytes(self) -> list[Path]:
        """What holds bytes of uploads that are not finished: ends, parts, and parts of concatenations."""
        return [*self.ends(), *self._workshop().glob("*.bytes"), *self.sent_parts()]

    def ends(self) -> list[Path]:
        """What is too short to be a part."""
        return list(self._workshop().glob("*.part"))

    def sent_parts(self) -> list[Path]:
        """The parts of multipart uploads that are under way."""
        return list(self._path.glob(".upload_id-*.part-*"))

    def lose_metadata(self, path: Path) -> None:
        """Leaves of an object only its bytes, as this server does when whoever sends one crashes."""
        key = encoded(str(path.relative_to(self._path / BUCKET)))
        (self._path / f".bucket-{encoded(BUCKET)}.object-{key}.metadata.json").unlink()

    def _workshop(self) -> Path:
        return self._path / BUCKET / PREFIX / ".uploads"


def encoded(name: str) -> str:
    """As the server has it in the names of its files."""
    return base64.urlsafe_b64encode(name.encode()).decode().rstrip("=")


def running_bucket(path: Path) -> Iterator[Bucket]:
    bucket = Bucket(path)
    yield bucket
    bucket.kill()
