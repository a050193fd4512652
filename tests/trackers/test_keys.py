"""Keys come from the environment or from a command, and show themselves to nobody."""

from __future__ import annotations

import os
import pickle
import shlex
import sys
import time

import pytest

from holdfast.trackers.http import Key
from holdfast.trackers.port import TrackerError
from holdfast.trackers.selection import find_key

SECRET = "s3cret-0123456789"
ENVIRONMENT = {"PATH": os.environ["PATH"]}


def python(program: str) -> str:
    return shlex.join([sys.executable, "-c", program])


def test_the_first_variable_that_is_set_wins() -> None:
    environment = {"FIRST": " ", "SECOND": f" {SECRET}\n", "THIRD": "other"}
    key = find_key(["MISSING", "FIRST", "SECOND", "THIRD"], environment)
    assert key is not None
    assert key.reveal() == SECRET


def test_without_variable_and_command_there_is_none() -> None:
    assert find_key(["MISSING"], {}) is None
    assert find_key(["MISSING"], {}, "") is None


def test_a_command_gives_the_first_line_it_prints() -> None:
    key = find_key([], ENVIRONMENT, python(f"print('{SECRET}'); print('more')"))
    assert key is not None
    assert key.reveal() == SECRET


def test_a_variable_is_asked_before_the_command() -> None:
    key = find_key(["HERE"], {"HERE": SECRET}, "/nowhere/command")
    assert key is not None
    assert key.reveal() == SECRET


def test_a_command_in_one_text_is_split_into_words_and_no_shell_sees_it() -> None:
    program = 'import sys; print("|".join(sys.argv[1:]))'
    command = f"{shlex.quote(sys.executable)} -c {shlex.quote(program)} && $(id) 'a;b' > x"
    key = find_key([], ENVIRONMENT, command)
    assert key is not None
    assert key.reveal() == "&&|$(id)|a;b|>|x"


@pytest.mark.parametrize(
    ("command", "cause"),
    [
        ("/nowhere/command", "the key command cannot start: No such file or directory"),
        (python("raise SystemExit(3)"), "the key command ended with code 3"),
        (python(f"import sys; sys.exit('{SECRET}')"), "the key command ended with code 1"),
        (python("pass"), "the key command printed nothing"),
        ("op 'read", "the key command is not well formed: No closing quotation"),
        (python("print('two words')"), "the key is not one word of printable ASCII"),
        (python("print('x' * 2000)"), "the key is not one word of printable ASCII"),
    ],
)
def test_a_command_that_fails_is_an_error_without_the_secret(
    command: str, cause: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(TrackerError) as failed:
        find_key([], ENVIRONMENT, command)
    assert (failed.value.message, failed.value.kind) == (cause, "tracker_auth")
    assert SECRET not in repr(failed.value) + "".join(capfd.readouterr())


def test_a_command_has_a_time_limit_and_leaves_nobody_behind(
    tmp_path: object, capfd: pytest.CaptureFixture[str]
) -> None:
    """The child of the command holds its output open; it must not hold us."""
    started = f"{tmp_path}/child"
    program = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({started!r}, 'w').write(str(child.pid))\n"
        "time.sleep(60)"
    )
    deadline = time.monotonic() + 1.0
    with pytest.raises(TrackerError, match="took too long"):
        find_key([], ENVIRONMENT, python(program), deadline)
    assert time.monotonic() < deadline + 2.0
    if os.path.exists(started):
        with open(started) as file:
            child = int(file.read() or 0)
        assert not child or _ends(child)


def _ends(process: int) -> bool:
    """Whether it is gone, or dead and not yet collected."""
    for _ in range(100):
        try:
            with open(f"/proc/{process}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] in "ZX":
                    return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def test_a_key_shows_itself_to_nobody() -> None:
    key = Key(SECRET)
    assert SECRET not in f"{key} {key!r} {[key]} {key.__slots__}"
    with pytest.raises(TypeError):
        pickle.dumps(key)


@pytest.mark.parametrize("text", ["two words", "line\nbreak", "ümlaut", "x" * 1001, "nul\0"])
def test_what_a_header_cannot_carry_is_refused_without_quoting_it(text: str) -> None:
    with pytest.raises(TrackerError) as refused:
        Key(text).check()
    assert text not in str(refused.value)
