"""What a person is told when something cannot be done."""


class CommandError(Exception):
    """An error whose message says what to do about it; it needs no traceback."""
