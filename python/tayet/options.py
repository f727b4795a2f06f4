"""Every option of the command: its name, its default, and where its value may come from.

What stands later in this list prevails: the default, the configuration file, the environment (``TAYET_WORKERS``), the command
line (``--workers``).
"""

import os

from tayet.errors import CommandError

ENVIRONMENT_PREFIX = "TAYET_"
# Variables that mean something of their own, and those of the engine that this command sets itself.
OTHER_VARIABLES = {"TAYET_CONFIG", "TAYET_LOG", "TAYET_LISTEN", "TAYET_APP"}
# How long a worker that is to end still takes requests that are on their way to it.
SHUTDOWN_GRACE_MS = 500
# Even the quickest application takes longer than this, and has 15 % more requests a second where clients that share its cores
# are woken together.
HOLD_ANSWERS_FROM_US = 1


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
    Option("websocket_threads", 512, "threads of a worker that WebSockets may hold; past it, who asks for one gets 503", "COUNT"),
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
    Option("metrics", "", "where Prometheus reads the workers' figures, at /metrics: an address as for --bind", "ADDRESS"),
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
# What only the command line may say.
COMMAND_OPTIONS = (
    Option("config", "", "a configuration file, in TOML or Python", "FILE", short="-c"),
    Option("check_config", False, "load everything, say what is wrong, and serve nothing"),
    Option("print_config", False, "print the options that result, and serve nothing"),
    Option("version", False, "print the version"),
    Option("help", False, "print this", short="-h"),
)
BY_FLAG = {flag: option for option in (*COMMAND_OPTIONS, *OPTIONS) for flag in (option.flag, option.short) if flag}


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
            "hold_answers_from_us": HOLD_ANSWERS_FROM_US,
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


class CommandLine:
    """What the command line says: the application, and options by their names, the values as texts."""

    def __init__(self, arguments):
        self.given = {}
        rest = iter(arguments)
        names = []
        for argument in rest:
            if argument == "--":
                names += rest
            elif argument.startswith("-"):
                self._take(argument, rest)
            else:
                names.append(argument)
        if len(names) > 1:
            raise CommandError(f"{names[1]!r} is one too many: one application is served; --help tells more")
        self.app = names[0] if names else ""

    def says(self, name):
        return self.given.get(name, False)

    def _take(self, argument, rest):
        if argument.startswith("--"):
            flag, equals, value = argument.partition("=")
        else:
            flag, equals, value = argument[:2], argument[2:], argument[2:].removeprefix("=")
        is_off = flag.startswith("--no-")
        option = BY_FLAG.get("--" + flag.removeprefix("--no-") if is_off else flag)
        if option is None or is_off and not option.is_switch:
            raise CommandError(f"there is no option {flag}; --help lists them")
        if option.is_switch:
            if equals:
                raise CommandError(f"{flag} takes no value")
            self.given[option.name] = not is_off
            return
        value = value if equals else next(rest, None)
        if value is None:
            raise CommandError(f"{flag} needs a value: {option.help}")
        if option.is_list:
            self.given.setdefault(option.name, []).append(value)
        else:
            self.given[option.name] = value


def read(line):
    """The settings that a command line results in, with the environment and the configuration file behind it."""
    values = {option.name: option.default for option in OPTIONS}
    app = ""
    config = line.says("config") or os.environ.get("TAYET_CONFIG")
    if config:
        found = read_file(config)
        app = found.pop("app", "")
        values.update(found)
    values.update(_from_environment())
    for option in OPTIONS:
        if option.name in line.given:
            given = line.given[option.name]
            value = ",".join(given) if option.is_list and option.name != "set" else given
            values[option.name] = option.parse(value, option.flag)
    app = line.app or os.environ.get("TAYET_APP") or app
    if not app:
        raise CommandError("say what to serve, such as module:app; --help tells more")
    return Settings(app, values, _engine_variables())


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
