"""The command line that starts a client with a first prompt; tests/real_clients runs the real ones."""

from __future__ import annotations

import subprocess
import sys

import pytest

from holdfast.kernel.errors import Usage
from holdfast.session.client_start import LONGEST_PROMPT, command_for

ECHO = "import sys; print(len(sys.argv[-1].encode()))"


@pytest.mark.parametrize(
    ("client", "command"),
    [
        ("claude", ["claude", "--", "-go on\n$HOME"]),
        ("codex", ["codex", "--", "-go on\n$HOME"]),
        ("gemini", ["gemini", "--prompt-interactive=-go on\n$HOME"]),
        ("opencode", ["opencode", "--prompt=-go on\n$HOME"]),
    ],
)
def test_the_prompt_is_one_argument_as_it_is(client: str, command: list[str]) -> None:
    assert command_for(client, "-go on\0\n$HOME") == command  # type: ignore[arg-type]


@pytest.mark.parametrize("client", ["claude", "codex", "gemini", "opencode"])
def test_the_longest_prompt_can_be_started_and_a_longer_one_is_refused(client: str) -> None:
    room = LONGEST_PROMPT - max(len(word) for word in command_for(client, "x")) + 1  # type: ignore[arg-type]
    longest = LONGEST_PROMPT if client in ("claude", "codex") else room
    command = command_for(client, "x" * longest)  # type: ignore[arg-type]
    # The system itself takes it.
    done = subprocess.run(
        [sys.executable, "-c", ECHO, *command[1:]], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) == LONGEST_PROMPT
    with pytest.raises(Usage, match="bytes long"):
        command_for(client, "x" * (longest + 1))  # type: ignore[arg-type]
    with pytest.raises(Usage, match="bytes long"):
        command_for(client, "ü" * (longest // 2 + 1))  # type: ignore[arg-type]


def test_nothing_to_say_and_nobody_to_say_it_to() -> None:
    with pytest.raises(Usage, match="empty"):
        command_for("claude", " \n\0")
    with pytest.raises(Usage, match="no client"):
        command_for("emacs", "go on")  # type: ignore[arg-type]
