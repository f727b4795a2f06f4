"""What ``--help`` prints."""

import argparse
import os

from tayet.options import COMMAND_OPTIONS, OPTIONS

# Columns where it is not written to a terminal.
DEFAULT_WIDTH = 100


def print_help():
    # Argparse lays it out; to read the command line with it would keep it in the memory of every process.
    made = argparse.ArgumentParser(
        prog="tayet-wsgi",
        description="Serves a WSGI application.",
        epilog="Options may also stand in a configuration file, or in the environment: TAYET_WORKERS=4 for --workers 4.",
        add_help=False,
        formatter_class=_formatter,
    )
    made.add_argument("app", nargs="?", metavar="MODULE:APP", help="what to serve: module:app, or module:make_app('x')")
    for option in COMMAND_OPTIONS:
        _add(made, option, switch="store_true")
    for option in OPTIONS:
        _add(made, option, switch=argparse.BooleanOptionalAction)
    made.print_help()


def _formatter(prog):
    # Left to find the width by itself, argparse imports what can pack archives too.
    try:
        width = os.get_terminal_size().columns - 2
    except OSError:
        width = DEFAULT_WIDTH
    return argparse.HelpFormatter(prog, width=width)


def _add(made, option, switch):
    flags = [flag for flag in (option.short, option.flag) if flag]
    if option.is_switch:
        made.add_argument(*flags, action=switch, default=argparse.SUPPRESS, help=option.help)
        return
    shown = ",".join(option.default) if option.is_list else option.default
    text = f"{option.help} (default: {shown})" if shown not in ("", 0) else option.help
    if option.choices:
        text = f"{text}: {', '.join(option.choices)}" if "default" not in text else text.replace("(default", f"({', '.join(option.choices)}; default")
    made.add_argument(*flags, metavar=option.metavar, help=text.replace("%", "%%"))
