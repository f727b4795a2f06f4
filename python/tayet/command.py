"""The command ``tayet-wsgi``.

What it needs at some times only, here and in the modules below, is imported then: every process of the server would keep it,
and what it brings along, in memory.
"""

import os
import sys

from tayet import loading, options
from tayet.errors import CommandError
from tayet.sockets import Listeners, parse_bind
from tayet.supervisor import Supervisor
from tayet.worker import make_server


def main(arguments=None):
    """Runs the command; ends the process."""
    try:
        code = run(sys.argv[1:] if arguments is None else arguments)
    except CommandError as error:
        print(f"tayet-wsgi: {error}", file=sys.stderr)
        code = 1
    sys.exit(code)


def run(arguments):
    """Runs the command; returns its exit code."""
    line = options.CommandLine(arguments)
    if line.says("help"):
        from tayet.help import print_help

        print_help()
        return 0
    if line.says("version"):
        import importlib.metadata

        print(f"tayet {importlib.metadata.version('tayet')}")
        return 0
    settings = options.read(line)
    if line.says("print_config"):
        print_config(settings)
        return 0
    enter_directory(settings)
    if line.says("check_config"):
        return check_config(settings)
    listeners = Listeners(settings.bind, settings.workers)
    try:
        return Supervisor(settings, listeners).run()
    finally:
        listeners.close()


def enter_directory(settings):
    """Goes where the application is."""
    if settings.chdir:
        try:
            os.chdir(settings.chdir)
        except OSError as error:
            raise CommandError(f"cannot change to {settings.chdir}: {error.strerror}") from None
    loading.prepare_path(os.getcwd(), settings.pythonpath)


def check_config(settings):
    """Loads all that would be served; returns the exit code."""
    for bind in settings.bind:
        parse_bind(bind)
    try:
        make_server(loading.load(settings.app), settings, descriptors=[])
    except CommandError:
        raise
    except Exception:
        import traceback

        traceback.print_exc()
        raise CommandError(f"{settings.app} cannot be loaded") from None
    print("the configuration is good")
    return 0


def print_config(settings):
    """Prints the options as a configuration file that sets them."""
    print(f"app = {_toml(settings.app)}")
    for option in options.OPTIONS:
        print(f"{option.name} = {_toml(settings.values[option.name])}")


def _toml(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return str(value)
