"""What programs are made of."""

import subprocess

from arena import PROFILE, TARGET

OF_SESSIONS = ("tayet_websocket::", "flate2::", "tayet_engine::session::", "tayet_engine::fan_out::")
"""Where the functions are that only WebSockets and streams of events need."""


def functions_of_sessions(example: str) -> list[str]:
    program = TARGET / PROFILE / "examples" / example
    listed = subprocess.run(["nm", "--demangle", program], capture_output=True, text=True, check=True)
    names = (line.split(" ", 2)[-1] for line in listed.stdout.splitlines())
    return [name for name in names if name.startswith(OF_SESSIONS)]


def test_a_program_without_sessions_has_nothing_of_their_code() -> None:
    assert functions_of_sessions("01_hello") == []
    assert functions_of_sessions("18_websocket_echo") != []
    assert functions_of_sessions("22_server_sent_events") != []
