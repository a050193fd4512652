"""Tab completion, typed into real shells."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
PATIENCE = 60
STARTS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], 'eval "$(holdfast completion bash)"'),
    "zsh": (
        ["zsh", "-f", "-i"],
        'autoload -Uz compinit; compinit -u; eval "$(holdfast completion zsh)"',
    ),
    "fish": (["fish", "--no-config", "-i"], "holdfast completion fish | source"),
}
CONTROL = re.compile(r"\x1b\[[0-9;?>=]*[A-Za-z]|\x1b\][^\x07]*\x07|\x1b[()=>].?|\x0f|\r")


class Shell:
    """A shell on a terminal of its own."""

    def __init__(self, name: str, folder: Path) -> None:
        command, self._setup = STARTS[name]
        environment = {
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "TERM": "xterm",
            "PS1": "ready> ",
            "LC_ALL": "C.UTF-8",
            "fish_greeting": "",
        }
        self._process, self._terminal = pty.fork()
        if self._process == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, environment)
        self.seen = ""

    def type(self, text: str) -> None:
        """Type a text."""
        os.write(self._terminal, text.encode())

    def await_text(self, text: str) -> None:
        """Read until the shell has shown a text."""
        while text not in CONTROL.sub("", self.seen):
            ready, _, _ = select.select([self._terminal], [], [], PATIENCE)
            assert ready, f"{text!r} was not shown: {self.seen!r}"
            part = os.read(self._terminal, 4096).decode(errors="replace")
            self.seen += part
            if "\x1b[c" in part:  # fish asks what the terminal is
                self.type("\x1b[?62;c")

    def set_up(self) -> None:
        """Load the completion, as the help says."""
        self.type(self._setup + "; echo set''-up\r")
        self.await_text("set-up")
        self.seen = ""

    def close(self) -> None:
        """End the shell."""
        os.close(self._terminal)
        with suppress(ChildProcessError):
            os.waitpid(self._process, 0)


@pytest.fixture(params=STARTS)
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shell]:
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed: tab completion in it was NOT tried.")
    opened = Shell(request.param, tmp_path)
    opened.set_up()
    yield opened
    opened.close()


def test_the_tab_key_completes_a_command_in_every_shell(shell: Shell) -> None:
    shell.type("holdfast resu\t")
    shell.await_text("holdfast resume ")
    assert "next:" not in shell.seen
    shell.type("--li\t")
    shell.await_text("--list")


def test_the_tab_key_completes_the_commands_of_a_command(shell: Shell) -> None:
    shell.type("holdfast agent tak\t")
    shell.await_text("holdfast agent takeover ")
    assert "next:" not in shell.seen
