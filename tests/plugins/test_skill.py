"""Every command that the skill and the plugins' commands teach is run, with one track and with two."""

from __future__ import annotations

import io
import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from scripts import plugins

from tests.cli import conftest as command_line
from tests.cli.conftest import Holdfast
from tests.rfc.world import DISCOVER

holdfast = command_line.holdfast

TEXTS = sorted(plugins.SOURCE.rglob("*.md"))
# What a reader puts in place of each word of the texts.
VALUES = {
    "ACTION": "write the docs",
    "API": "api",
    "CAUSE": "oauth",
    "AGAINST": "a second language",
    "CHECK": "Cards show data",
    "FOR": "it is fast",
    "FEATURE": "feature_02",
    "GROUP": "discover",
    "ID": "dashboard",
    "NAME": "Secondary-B",
    "QUESTION": "Which library?",
    "REASON": "the spec is missing",
    "STEP": "Click allow",
    "TASK": "1.2",
    "TEXT": "some words",
    "TO": "Agent-Primary",
    "TRACK": "login",
    "TRANSITION": "discover-design",
    "TYPE": "cost",
    "WHAT": "Consent in the browser",
    "WHY": "the provider asks for it",
    "what: why": "LALR: fast",
    "run:COMMAND": "run:true",
}
# These wait for a person, start a program, or do not end by themselves.
NOT_RUN = (
    "takeoff",
    "cockpit",
    "gate answer",
    "guard ack",
    "guard reset",
)
# What a command asks for that its line leaves to the reader.
REST = {
    "act": "--cli no --api no --file no --server no --data no --script no",
    "decide": "--option redis Redis fast heavy --option table Table small slow",
}
USAGE, BUG = 2, 70


def taught() -> list[str]:
    """Return every command of a text, as it stands there."""
    found: set[str] = set()
    for path in TEXTS:
        found |= set(re.findall(r"`(holdfast [^`]+)`", path.read_text("utf-8")))
    return sorted(found)


def fill_in(line: str) -> list[str]:
    """Return the words of a command with values for its placeholders."""
    return [VALUES.get(word, word) for word in shlex.split(line)[1:]]


@pytest.fixture
def project(repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository in which everything was begun that a command can be about."""
    holdfast("loop", "start", "EXECUTE", "--track", "login", "--tasks-total", "3")
    holdfast("agent", "start", "Secondary-A", "--feature", "feature_01")
    holdfast("agent", "start", "Secondary-B", "--feature", "feature_03")
    holdfast("rfc", "init", "auth-model")
    holdfast("gate", "verify", "--name", "dashboard", "--built", "It", "--how", "Look")
    return repository


def give_input(monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    text = DISCOVER if words[0] == "rfc" else json.dumps({"current": "Docs", "next": "go on"})
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), "utf-8"))


@pytest.mark.parametrize("tracks", [1, 2])
@pytest.mark.parametrize(
    "line", [one for one in taught() if not one.split(" ", 1)[1].startswith(NOT_RUN)]
)
def test_a_command_that_agents_are_taught_works(
    project: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch, line: str, tracks: int
) -> None:
    if tracks == 2:
        holdfast("loop", "start", "EXECUTE", "--track", "search")
    words = fill_in(line)
    if words[:3] == ["agent", "start", "Secondary-B"]:
        words[2] = "Secondary-C"
    if words[:2] == ["loop", "pass"]:
        for task in ("1.1", "1.2", "1.3"):
            holdfast("loop", "task-done", task, "--track", "login")
    if words[:2] == ["gate", "wait"]:
        words = [word if word != "60" else "0.01" for word in words]
        words += [] if "--timeout" in words else ["--timeout", "0.01"]
    if words[0] == "gate":
        words += shlex.split(REST.get(words[1], ""))
    give_input(monkeypatch, words)
    if words[:2] == ["rfc", "bootstrap"]:
        holdfast("rfc", "write", "discover")
    answer = holdfast(*words)
    assert answer.code not in (USAGE, BUG), answer.err
    allowed = (0, 8) if words[0] == "gate" else (0,)
    assert answer.code in allowed, answer.err


def test_what_is_taught_names_no_placeholder_without_a_value() -> None:
    for line in taught():
        for word in shlex.split(line)[1:]:
            assert word in VALUES or not word.isupper(), f"{word} in {line!r}"


def test_a_tracks_name_is_no_reason(project: Path, holdfast: Holdfast) -> None:
    """`loop fail login` wrote the track's name as the error."""
    answer = holdfast("loop", "fail", "login")
    assert answer.code == USAGE
    assert "holdfast loop fail REASON --track login" in answer.err
