"""Too few open files, too little memory, a full disk: a command says so, and never ends as a bug."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Holdfast

PATIENCE = 60
COMMANDS = (
    ("status",),
    ("status", "--json"),
    ("history",),
    ("verify",),
    ("doctor",),
    ("resume",),
    ("resume", "--list", "--json"),
    ("agent", "list"),
    ("agent", "beat", "Secondary-A", "--step", "on"),
    ("gate", "list"),
    ("guard", "check"),
    ("show", "note:default"),
    ("note", "one more"),
    ("note", "one more", "--json"),
    ("checkpoint", "--status", "later"),
    ("snapshot", "list"),
    ("export",),
    ("gc", "--dry-run"),
    ("--help",),
)
# With fewer than five, the interpreter itself cannot start.
FILES = [(resource.RLIMIT_NOFILE, count) for count in range(5, 25)]
# From where the interpreter starts at all to where every command has enough.
MEMORY = [
    (resource.RLIMIT_AS, count * 2**20) for count in range(16, 48, 2) if sys.platform == "linux"
]
SIZES = [(resource.RLIMIT_FSIZE, count * 1024) for count in (0, 1, 8, 32, 100)]
NAMES = {
    resource.RLIMIT_NOFILE: "files",
    resource.RLIMIT_AS: "bytes of memory",
    resource.RLIMIT_FSIZE: "bytes a file",
}
# What `make test` runs of them: those at which calls ended as a bug before, each with other commands.
FEW = [FILES[0], FILES[3], *MEMORY[2:6:3], SIZES[2]]
CASES = [
    *((*limit, COMMANDS[place :: len(FEW)], "some") for place, limit in enumerate(FEW)),
    *((*limit, COMMANDS, "all") for limit in [*FILES, *MEMORY, *SIZES]),
]


@pytest.fixture
def workspace(repository: Path, holdfast: Holdfast) -> Path:
    holdfast("note", "one")
    holdfast("checkpoint", "--task", "Renderer")
    holdfast("agent", "start", "Secondary-A", "--feature", "f1")
    return repository


@pytest.mark.parametrize(
    ("limit", "value", "commands"),
    [
        pytest.param(
            limit,
            value,
            commands,
            id=f"{value} {NAMES[limit]}, {share}",
            marks=[] if share == "some" else pytest.mark.proof,
        )
        for limit, value, commands, share in CASES
    ],
)
def test_a_shortage_is_named(
    workspace: Path, limit: int, value: int, commands: tuple[tuple[str, ...], ...]
) -> None:
    for words in commands:
        done = subprocess.run(
            [sys.executable, "-m", "holdfast", *words],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=PATIENCE,
            env={**os.environ, "HOLDFAST_ACTOR": "tester"},
            preexec_fn=lambda: resource.setrlimit(limit, (value, value)),
        )
        said = done.stdout + done.stderr
        assert done.returncode in (0, 1, 7, 75), (words, done)
        assert "Traceback" not in said, (words, done)
        assert "bug" not in said, (words, done)
        assert done.returncode == 0 or said.strip(), (words, "it says why")


# What the interpreter said at 30 MB after the command had ended, now and then.
BEHIND_US = """
import sys
from holdfast.cli import main
sys.argv = ["holdfast", "status"]
try:
    main()
except SystemExit:
    raise SystemError("exec returned NULL without setting an exception") from None
"""


def test_a_shortage_of_the_interpreter_itself_is_named(workspace: Path) -> None:
    done = subprocess.run([sys.executable, "-c", BEHIND_US], capture_output=True, text=True)
    assert (done.returncode, "Traceback" in done.stderr) == (75, False)
    assert "not enough memory" in done.stderr


@pytest.mark.parametrize("words", [["checkpoint", "--task", "x"], ["find", "x"], ["status"]])
def test_a_program_that_closed_our_input_is_no_bug(workspace: Path, words: list[str]) -> None:
    line = ["/bin/sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-m", "holdfast", *words]
    done = subprocess.run(line, cwd=workspace, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode in (0, 1), done.stderr
