"""Each optional feature can be removed: its folder deleted, and nothing edited.

A journal with records of it is kept, and what reads it says plainly what it does not know.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.without_features import Tree

UNITS = {
    "rfc": ("rfc",),
    "undo": ("undo",),
    "away": ("away",),
    "loop": ("loop",),
    "fleet": ("fleet",),
    "plans": ("plans",),
    "plans, budgets and gates": ("plans", "budgets", "gates"),
    "contrib": ("contrib",),
}
VERBS = {
    "rfc": "rfc",
    "undo": "undo",
    "away": "away",
    "loop": "loop",
    "fleet": "agent",
    "plans": "plan",
    "budgets": "guard",
    "gates": "gate",
    "contrib": "import",
}
# What the library calls a feature, where that is another name.
MEMBERS = {"away": "look_back"}
# Leaves a stream of each feature in the journal.
WORK = (
    ("note", "hello"),
    ("rfc", "init", "cache"),
    ("agent", "start", "Agent-Primary", "--feature", "feature_01"),
    ("gate", "verify", "--built", "Dashboard", "--how", "Cards show", "--name", "dash"),
    ("guard", "check", "--cost", "1", "--session", "s1"),
    ("plan", "new", "01-base/01"),
    ("loop", "start", "PLAN", "--track", "t1"),
    ("checkpoint", "--session", "s0", "--next", "keep the quotes"),
)
# What a person types, after which nothing may be a bug of ours.
READ = (
    ("--help",),
    ("--all",),
    ("status",),
    ("history",),
    ("verify",),
    ("doctor",),
    ("note", "again"),
    ("resume",),
    ("checkpoint", "--session", "s1", "--next", "test it"),
    ("gc", "--dry-run"),
    ("purge", "--matching", "--dry-run"),
    ("uninstall", "--dry-run"),
    ("export",),
    ("backup", "../copy.db"),
    ("trust", "--show"),
    ("snapshot", "create"),
)
# The page server, the MCP server and the library, each of which must not miss the feature.
FACES = """
import holdfast
from starlette.testclient import TestClient
from holdfast.mcp.server import Server
from holdfast.web.app import PageServer
from holdfast.web.table import pages
from holdfast.web.urls import Address
from holdfast.web.workspaces import Site

address = Address("http", "127.0.0.1", 4653)
server = PageServer(Site(["."]), address)
with TestClient(server.asgi, base_url=address.origin) as client:
    client.get("/sign-in?token=" + server.sign_ins.link("/dev/pts/7"))
    for page in pages():
        if "{" not in page.path:
            print(page.name, client.get(page.path).status_code)
print(*(one.name for one in Server(".")._tool_manager.list_tools()))
with holdfast.open() as workspace:
    print(*dir(workspace))
"""
ROOT = Path(__file__).parents[1]
# Tests of the rest, which need no feature.
SMOKE = ("tests/hooks/test_entry.py", "tests/session/test_steps.py")
EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd")


def records_in(tree: Tree) -> set[str]:
    (export,) = tree.commands(("export",))
    return set(export["out"].splitlines()[1:])


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose journal has records of every feature."""
    folder = tmp_path_factory.mktemp("worked")
    repository = folder / "repository"
    repository.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=repository, check=True)
    did = Tree(folder / "tree", repository).commands(*WORK)
    assert [(words, one["err"]) for words, one in zip(WORK, did, strict=True) if one["code"]] == []
    return repository


@pytest.mark.parametrize("unit", UNITS)
def test_without_it_holdfast_works(worked: Path, tmp_path: Path, unit: str) -> None:
    repository = tmp_path / "repository"
    shutil.copytree(worked, repository, symlinks=True)
    tree = Tree(tmp_path / "tree", repository, UNITS[unit])
    assert tree.python("import holdfast; print(holdfast.__file__)").startswith(str(tmp_path))
    whole = Tree(tmp_path / "whole", repository)
    before = records_in(whole)
    answers = dict(zip(READ, tree.commands(*READ, given="hello"), strict=True))
    bugs = {words: one["err"] for words, one in answers.items() if one["code"] == 70}
    assert bugs == {}
    listed = set(re.findall(r"^  (\w+)", answers[("--all",)]["out"], re.MULTILINE))
    assert listed.isdisjoint(VERBS[name] for name in UNITS[unit])
    assert listed > {"status", "note", "checkpoint"}
    assert answers[("verify",)]["code"] == 0, answers[("verify",)]
    assert before < records_in(whole), "every record is kept"
    for event in EVENTS:
        tree.hook("claude", event, source="startup", tool_name="Bash", tool_input={})
    assert "hook failed" not in tree.commands(("status",))[0]["out"]
    *shown, tools, members = tree.python(FACES).splitlines()
    assert {line.split()[1] for line in shown} == {"200"}
    assert {line.split()[0] for line in shown} > {"board", "work", "history"}
    assert "checkpoint" in tools.split()
    assert {"note", "stop"} <= set(members.split())
    assert {MEMBERS.get(name, name) for name in UNITS[unit]}.isdisjoint(members.split())


@pytest.mark.proof
@pytest.mark.parametrize("unit", UNITS)
def test_without_it_the_tests_of_the_rest_pass(repository: Path, tmp_path: Path, unit: str) -> None:
    tree = Tree(tmp_path / "tree", repository, UNITS[unit])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *SMOKE],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tree.folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
