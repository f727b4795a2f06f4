"""From ``module:app`` to the application."""

import os
import sys

from tayet.errors import CommandError

DEFAULT_ATTRIBUTE = "application"


def load(spec):
    """Imports what ``module``, ``module:attribute`` or ``module:factory('x', y=1)`` names.

    Raises ``CommandError`` where the name is wrong. What the application's own code raises is left as it is.
    """
    module_name, _, expression = spec.partition(":")
    module = _import(module_name)
    return _evaluate(module, expression or DEFAULT_ATTRIBUTE)


def prepare_path(directory, extra=()):
    """Puts ``directory``, in which the application lies, and ``extra`` ones first on the import path."""
    for path in (*reversed(extra), directory):
        path = os.path.abspath(path)
        if path not in sys.path:
            sys.path.insert(0, path)


def _import(name):
    if not name or name.endswith(".py") or "/" in name:
        wanted = name.removesuffix(".py").replace("/", ".") or "module"
        raise CommandError(f"{name!r} is no module's name; write {wanted}:app")
    try:
        __import__(name)
        return sys.modules[name]
    except ModuleNotFoundError as error:
        # A module that the application itself misses is the application's own error.
        if error.name and (name == error.name or name.startswith(error.name + ".")):
            raise CommandError(f"there is no module {error.name!r} in {os.getcwd()} or on the import path") from None
        raise


def _evaluate(module, expression):
    path, parenthesis, _ = expression.partition("(")
    names = path.strip().split(".")
    if not all(name.isidentifier() for name in names):
        raise CommandError(f"{expression!r} is neither a name nor a call such as make_app('production')")
    application = _attribute(module, names)
    if parenthesis:
        arguments, keywords = _literals(expression)
        application = application(*arguments, **keywords)
    if not callable(application):
        raise CommandError(f"{module.__name__}:{expression} is a {type(application).__name__}, which is no application")
    return application


def _literals(expression):
    """The arguments of a call."""
    import ast

    try:
        call = ast.parse(expression, mode="eval").body
    except SyntaxError:
        call = None
    if not isinstance(call, ast.Call) or isinstance(call.func, ast.Call):
        raise CommandError(f"{expression!r} is neither a name nor a call such as make_app('production')")
    try:
        arguments = [ast.literal_eval(argument) for argument in call.args]
        keywords = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords if keyword.arg}
    except ValueError:
        raise CommandError(f"the arguments of {expression!r} must be literals") from None
    return arguments, keywords


def _attribute(module, names):
    found = module
    for name in names:
        if not hasattr(found, name):
            raise CommandError(_missing(module, found, name))
        found = getattr(found, name)
    return found


def _missing(module, holder, name):
    import difflib

    candidates = [known for known in dir(holder) if not known.startswith("_") and callable(getattr(holder, known, None))]
    nearest = difflib.get_close_matches(name, candidates, n=1)
    where = f"the module {module.__name__!r} ({getattr(module, '__file__', 'built in')})"
    advice = f"; did you mean {nearest[0]!r}?" if nearest else ""
    return f"{where} has no {name!r}{advice}"
