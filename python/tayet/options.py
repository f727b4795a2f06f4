"""Every option of the command: its name, its default, and where its value may come from.

What stands later in this list prevails: the default, the configuration file, the environment (``TAYET_WORKERS``), the command
line (``--workers``).
"""

import argparse
import os

from tayet.errors import CommandError

ENVIRONMENT_PREFIX = "TAYET_"
# Variables that mean something of their own, and those of the engine that this command sets itself.
OTHER_VARIABLES = {"TAYET_CONFIG", "TAYET_LOG", "TAYET_LISTEN", "TAYET_APP"}
# Columns of --help where it is not written to a terminal.
DEFAULT_HELP_WIDTH = 100
# How long a worker that is to end still takes requests that are on their way to it.
SHUTDOWN_GRACE_MS = 500


class Option:
    """One option. A list's default is a tuple; its text has commas."""

    def __init__(self, name, default, help, metavar="VALUE", choices=(), short=""):
        self.name = name
        self.default = default
        self.help = help
        self.metavar = metavar
        self.choices = choices
        self.short = short

    @property
    def flag(self):
        return "--" + self.name.replace("_", "-")

    @property
    def is_switch(self):
        return isinstance(self.default, bool)

    @property
    def is_list(self):
        return isinstance(self.default, tuple)

    def parse(self, value, source):
        """The value of this option that a text, or a value from a configuration file, means."""
        try:
            parsed = self._parse(value)
        except (ValueError, TypeError):
            raise CommandError(f"{source}: {self.name} = {value!r} is wrong: {self._wanted()}") from None
        if self.choices and parsed not in self.choices:
            raise CommandError(f"{source}: {self.name} = {value!r} is wrong: it is one of {', '.join(self.choices)}")
        return parsed

    def _parse(self, value):
        if self.is_list:
            parts = value.split(",") if isinstance(value, str) else value
            return tuple(str(part).strip() for part in parts if str(part).strip())
        if self.is_switch:
            return _parse_switch(value)
        if isinstance(self.default, str):
            if not isinstance(value, str):
                raise TypeError
            return value
        number = type(self.default)(value)
        if number < 0 or isinstance(value, bool):
            raise ValueError
        return number

    def _wanted(self):
        if self.is_switch:
            return "it is true or false"
        return {int: "it is a whole number from 0 up", float: "it is a number from 0 up"}.get(type(self.default), "it is a text")


def _parse_switch(value):
    if isinstance(value, bool):
        return value
    known = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
    if str(value).lower() not in known:
        raise ValueError
    return known[str(value).lower()]


OPTIONS = (
    Option("bind", ("127.0.0.1:8000",), "where to listen: host:port, [ipv6]:port, unix:path or fd://number; may be repeated", "ADDRESS", short="-b"),
    Option("workers", 1, "worker processes", "COUNT", short="-w"),
    Option("threads", 0, "threads that run the application, exactly; 0 finds out where it runs best", "COUNT"),
    Option("loops", 0, "event loops of a worker; 0 is one, or with a free-threaded Python one a core", "COUNT"),
    Option("timeout", 0.0, "seconds for a request; then it is answered 503 and its worker replaced; 0 is no limit", "SECONDS", short="-t"),
    Option("graceful_timeout", 30.0, "seconds that requests under way have at a stop or a reload", "SECONDS"),
    Option("keep_alive", 60.0, "seconds that a connection may idle", "SECONDS"),
    Option("max_requests", 0, "requests after which a worker is replaced; 0 is never", "COUNT"),
    Option("max_requests_jitter", 0, "up to so many more, by chance, so that workers take turns", "COUNT"),
    Option("max_rss", 0, "resident memory past which a worker is replaced, in MiB; 0 is never", "MIB"),
    Option("max_body", 0, "largest request body, in bytes; past it the answer is 413; 0 is no limit", "BYTES"),
    Option("reload", False, "reload when a file of the application changes, for development"),
    Option("reload_extra", (), "other files whose change reloads; may be repeated", "FILE"),
    Option("preload", False, "load the application before the workers are forked; a reload then needs a restart"),
    Option("access_log", "off", "a line for every request", "FORMAT", ("off", "common", "combined", "json")),
    Option("access_log_file", "-", "where those lines go; - is the standard output", "FILE"),
    Option("error_log", "-", "where errors go, the application's too; - is the standard error", "FILE"),
    Option("log_level", "info", "what is logged of the server", "LEVEL", ("error", "warn", "info", "debug")),
    Option("pid", "", "a file for the supervisor's process id", "FILE", short="-p"),
    Option("chdir", "", "the directory to serve from", "DIRECTORY"),
    Option("pythonpath", (), "directories to import from; may be repeated", "DIRECTORY"),
    Option("user", "", "the user that the workers run as", "USER", short="-u"),
    Option("group", "", "the group that the workers run as", "GROUP", short="-g"),
    Option("forwarded_allow_ips", (), "proxies whose X-Forwarded-For and -Proto count: addresses, networks, unix", "ADDRESSES"),
    Option("proxy_protocol", False, "every connection begins with a PROXY protocol header"),
    Option("script_name", "", "the path at which the application is mounted", "PATH"),
    Option("static", (), "files that are served without the application; may be repeated", "/PATH=DIRECTORY"),
    Option("set", (), "a setting of the engine, such as max_head_bytes=32768; may be repeated", "NAME=VALUE"),
)
BY_NAME = {option.name: option for option in OPTIONS}


class Settings:
    """What the command was told, from all sources: each option by its name.

    ``variables`` are the ``TAYET_`` variables that are none of the command's: the engine's.
    """

    def __init__(self, app, values, variables=()):
        self.app = app
        self.values = values
        self.variables = variables

    def __getattr__(self, name):
        try:
            return self.__dict__["values"][name]
        except KeyError:
            raise AttributeError(name) from None

    def static_files(self):
        """Paths, with the directories that are served below them."""
        for mount in self.static:
            if "=" not in mount:
                raise CommandError(f"--static {mount}: it is /PATH=DIRECTORY")
        return [tuple(mount.split("=", 1)) for mount in self.static]

    def engine(self):
        """Names and values of the engine's settings, as text."""
        chosen = {
            "keep_alive_timeout_ms": round(self.keep_alive * 1000),
            "shutdown_deadline_ms": round(self.graceful_timeout * 1000),
            "shutdown_grace_ms": SHUTDOWN_GRACE_MS,
        }
        if self.max_body:
            chosen["max_stream_bytes"] = self.max_body
        if self.forwarded_allow_ips:
            chosen["trusted_proxies"] = ",".join(self.forwarded_allow_ips)
        if self.proxy_protocol:
            chosen["proxy_protocol"] = "true"
        if self.loops:
            chosen["loops"] = self.loops
        for setting in self.set:
            name, equals, value = setting.partition("=")
            if not equals:
                raise CommandError(f"--set {setting}: it is NAME=VALUE")
            chosen[name.strip()] = value.strip()
        return chosen


def read(arguments):
    """Reads the command line, with the environment and the configuration file behind it. Returns its switches, too."""
    parsed = parser().parse_args(arguments)
    values = {option.name: option.default for option in OPTIONS}
    app = ""
    config = parsed.config or os.environ.get("TAYET_CONFIG")
    if config:
        found = read_file(config)
        app = found.pop("app", "")
        values.update(found)
    values.update(_from_environment())
    for option in OPTIONS:
        given = getattr(parsed, option.name)
        if given is not None:
            value = ",".join(given) if option.is_list and option.name != "set" else given
            values[option.name] = option.parse(value, option.flag)
    app = parsed.app or os.environ.get("TAYET_APP") or app
    if not app:
        raise CommandError("say what to serve, such as module:app; --help tells more")
    return parsed, Settings(app, values, _engine_variables())


def read_file(path):
    """The options of a TOML file, or of a Python file's names."""
    source = f"the configuration file {path}"
    try:
        if path.endswith(".py"):
            import runpy

            found = {name: value for name, value in runpy.run_path(path).items() if name in BY_NAME or name == "app"}
        else:
            found = _read_toml(path)
    except OSError as error:
        raise CommandError(f"cannot read {source}: {error.strerror}") from None
    unknown = sorted(set(found) - set(BY_NAME) - {"app"})
    if unknown:
        raise CommandError(f"{source}: {unknown[0]!r} is no option")
    return {name: value if name == "app" else BY_NAME[name].parse(value, source) for name, value in found.items()}


def _read_toml(path):
    try:
        import tomllib
    except ModuleNotFoundError:
        raise CommandError(f"{path}: TOML needs Python 3.11; write the configuration as a Python file") from None
    with open(path, "rb") as file:
        try:
            table = tomllib.load(file)
        except tomllib.TOMLDecodeError as error:
            raise CommandError(f"the configuration file {path}: {error}") from None
    engine = table.get("set")
    if isinstance(engine, dict):
        table["set"] = [f"{name}={value}" for name, value in engine.items()]
    return {name.replace("-", "_"): value for name, value in table.items()}


def _from_environment():
    values = {}
    for option in OPTIONS:
        variable = ENVIRONMENT_PREFIX + option.name.upper()
        if variable in os.environ:
            values[option.name] = option.parse(os.environ[variable], f"the variable {variable}")
    return values


def _engine_variables():
    known = OTHER_VARIABLES | {ENVIRONMENT_PREFIX + option.name.upper() for option in OPTIONS}
    return tuple(
        (name, value) for name, value in os.environ.items() if name.startswith(ENVIRONMENT_PREFIX) and name not in known
    )


def parser():
    """The command line."""
    made = argparse.ArgumentParser(
        prog="tayet-wsgi",
        description="Serves a WSGI application.",
        epilog="Options may also stand in a configuration file, or in the environment: TAYET_WORKERS=4 for --workers 4.",
        allow_abbrev=False,
        formatter_class=_formatter,
    )
    made.add_argument("app", nargs="?", metavar="MODULE:APP", help="what to serve: module:app, or module:make_app('x')")
    made.add_argument("-c", "--config", metavar="FILE", help="a configuration file, in TOML or Python")
    made.add_argument("--check-config", action="store_true", help="load everything, say what is wrong, and serve nothing")
    made.add_argument("--print-config", action="store_true", help="print the options that result, and serve nothing")
    made.add_argument("--version", action="store_true", help="print the version")
    for option in OPTIONS:
        _add(made, option)
    return made


def _formatter(prog):
    # Left to find the width by itself, argparse imports what can pack archives too.
    try:
        width = os.get_terminal_size().columns - 2
    except OSError:
        width = DEFAULT_HELP_WIDTH
    return argparse.HelpFormatter(prog, width=width)


def _add(made, option):
    flags = [flag for flag in (option.short, option.flag) if flag]
    if option.is_switch:
        made.add_argument(*flags, action=argparse.BooleanOptionalAction, default=None, help=option.help)
        return
    shown = ",".join(option.default) if option.is_list else option.default
    text = f"{option.help} (default: {shown})" if shown not in ("", 0) else option.help
    if option.choices:
        text = f"{text}: {', '.join(option.choices)}" if "default" not in text else text.replace("(default", f"({', '.join(option.choices)}; default")
    action = "append" if option.is_list else "store"
    made.add_argument(*flags, action=action, default=None, metavar=option.metavar, help=text.replace("%", "%%"))
