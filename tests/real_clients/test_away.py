"""The morning after: what three sessions of real clients left, as `holdfast away` tells it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Git
from tests.real_clients.conftest import ready
from tests.real_clients.world import Claude, Client, Codex

pytestmark = pytest.mark.clients

WORDS = 'import shlex\n\n\ndef parse(line):\n    return line.split(" ")\n'
BROKEN, RIGHT = '    return line.split(" ")', "    return shlex.split(line)"
HALF = """    return [word.strip('"') for word in line.split(" ")]"""
CHECK = """\
import unittest

from words import parse


class Words(unittest.TestCase):
    def test_quoted(self):
        self.assertEqual(parse('a "b c"'), ["a", "b c"])
"""
RUN = "python3 -m unittest test_words"
PUBLISH = "npm publish"


def make_project(folder: Path, git: Git) -> Path:
    """A project with a failing check and a place to push to."""
    git("init", "--quiet", "--bare", "--initial-branch=main", f"{folder}.git", at=folder.parent)
    git("clone", "--quiet", f"{folder}.git", str(folder), at=folder.parent)
    git("config", "user.name", "A", at=folder)
    git("config", "user.email", "a@example.invalid", at=folder)
    (folder / "words.py").write_text(WORDS)
    (folder / "test_words.py").write_text(CHECK)
    (folder / ".gitignore").write_text("__pycache__/\n")
    git("add", ".", at=folder)
    git("commit", "--quiet", "--message", "words", at=folder)
    git("push", "--quiet", "--set-upstream", "origin", "HEAD", at=folder)
    return folder


def begin(kind: type[Client], project: Path, home: Path) -> Client:
    client = ready(kind, project, home)
    client.install()
    return client


def test_the_morning_after(tmp_path: Path, git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Codex, "model", "gpt-5.5")
    home = tmp_path / "home"
    shop, api = make_project(tmp_path / "shop", git), make_project(tmp_path / "api", git)
    pushing = begin(Claude, shop, home)
    done = pushing.run(
        "Make parse in words.py keep quoted words together.",
        [
            pushing.read("words.py"),
            pushing.edit("words.py", BROKEN, RIGHT),
            pushing.shell(RUN),
            pushing.shell("git commit --all --message 'Keep quoted words together' && git push"),
            {"text": "parse uses shlex.split now; the check passes, and it is pushed."},
        ],
    )
    assert done.code == 0, done.told
    failing = begin(Codex, api, home)
    done = failing.run(
        "Quoted words must stay together in parse. Run the check.",
        [
            failing.edit("words.py", BROKEN, HALF),
            failing.shell(RUN),
            {
                "text": "I stripped the quotes, but the check still fails. Shall I use shlex instead?"
            },
        ],
    )
    assert done.code == 0, done.told
    asking = ready(Claude, shop, home)
    told, shown = tmp_path / "told.json", tmp_path / "told.txt"
    away = f"{asking.program('holdfast')} away"
    wait = f'for i in $(seq 60); do {away} --json >{told}; grep -q \'"waits": "May\' {told} && break; sleep 0.5; done'
    run = asking.start(
        ["--permission-mode", "default", "Publish the new version to npm."],
        [asking.shell(PUBLISH), {"text": "FINISHED"}],
        environment={**asking.environment(), "TERM": "xterm-256color"},
        steps=[
            {"sees": PUBLISH, "type": []},
            {"run": {"command": ["sh", "-c", f"{wait}; {away} >{shown} 2>&1"]}, "type": ["\x1b"]},
            {"type": ["/exit", "\r"]},
        ],
    )
    assert told.exists(), run.told
    print(shown.read_text())
    answer: dict[str, Any] = json.loads(told.read_text())["data"]
    first, second, third = answer["sessions"]
    assert (first["state"], first["project"]) == ("waits", "shop")
    assert PUBLISH in first["waits"]
    assert (second["state"], second["client"], second["project"]) == ("failing", "codex", "api")
    assert second["failed"][0]["command"] == RUN
    assert second["uncommitted"] == 1
    assert (third["state"], third["tree"]["ahead"]) == ("done", 0)
    assert third["commits"] == ["Keep quoted words together"]
    assert third["passed"]["edits_since"] == 0
    assert all(one["cost"] for one in answer["sessions"])
    assert answer["is_first"]
