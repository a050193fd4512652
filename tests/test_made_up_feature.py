"""A made-up feature: what docs/how-to/add-a-feature.md says, executed, in one folder or in a distribution of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.without_features import SOURCE, Tree

ROOT = Path(__file__).parents[1]
HOW_TO = (ROOT / "docs/how-to/add-a-feature.md").read_text("utf-8")
FOLDER = "src/holdfast/jot"

PAGE = """
from tests.web.world import Visitor
with Visitor(["."]) as visitor:
    visitor.sign_in()
    records = visitor.data("/history.json")["records"]
    (href, *_) = [one["href"] for one in records if one["stream"] == "jot:default"]
    print(visitor.get(href).text)
    print(visitor.get("/board").text)
"""
TOOL = """
import anyio
from mcp.client.client import Client
from holdfast.mcp.server import Server
async def call():
    async with Client(Server(".")) as client:
        print([tool.name for tool in (await client.list_tools()).tools])
        print((await client.call_tool("jot", {"text": "by the tool"})).content[0].text)
anyio.run(call)
"""
LIBRARY = """
import holdfast
with holdfast.open() as workspace:
    print(workspace.jots.texts())
"""


def blocks(language: str) -> Iterator[tuple[str, str]]:
    """The blocks of code in the how-to, with the files that they are."""
    pattern = rf"(?:`([\w./]+)`:\n\n)?```{language}\n(.*?)```\n"
    yield from re.findall(pattern, HOW_TO, re.DOTALL)


def add_feature(project: Path) -> None:
    """Do what the how-to says, in a copy of the sources."""
    ((_, commands),) = blocks("sh")
    subprocess.run(["sh", "-e", "-c", commands], cwd=project, check=True)
    for name, code in (*blocks("python"), *blocks("html")):
        path = project / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(code, "utf-8")


@pytest.fixture
def inside(tmp_path: Path, repository: Path) -> Tree:
    """Holdfast with the feature in its own folder."""
    tree = Tree(tmp_path / "project/src", repository)
    add_feature(tmp_path / "project")
    tree.path.append(str(ROOT))
    return tree


@pytest.fixture
def beside(tmp_path: Path, repository: Path) -> Tree:
    """Holdfast as it is, and the feature installed beside it with pip."""
    made = Tree(tmp_path / "project/src", repository)
    add_feature(tmp_path / "project")
    package = tmp_path / "distribution/holdfast_jot"
    package.parent.mkdir()
    os.rename(made.folder / "holdfast/jot", package)
    for path in package.rglob("*.py"):
        path.write_text(path.read_text("utf-8").replace("holdfast.jot", "holdfast_jot"), "utf-8")
    ((_, table),) = blocks("toml")
    (package.parent / "pyproject.toml").write_text(table, "utf-8")
    words = ("--no-deps", "--no-build-isolation", "--disable-pip-version-check", "-q")
    site = tmp_path / "site"
    command = [sys.executable, "-m", "pip", "install", *words, "--target", str(site), "."]
    done = subprocess.run(command, cwd=package.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    made.path += [str(site), str(ROOT)]
    return made


@pytest.fixture(params=["inside", "beside"])
def tree(request: pytest.FixtureRequest) -> Tree:
    found: Tree = request.getfixturevalue(request.param)
    return found


def test_it_is_one_folder(inside: Tree) -> None:
    for path in filter(Path.is_file, inside.folder.rglob("*")):
        name = path.relative_to(inside.folder / "holdfast")
        if "__pycache__" not in name.parts and name.parts[0] != "jot":
            assert path.read_bytes() == (SOURCE / name).read_bytes(), name


def test_every_face_knows_it(tree: Tree) -> None:
    help, *wrote, history, status, resume, show = tree.commands(
        ("--all",),
        *(("jot", f"jot number {number}") for number in range(3)),
        ("history",),
        ("status",),
        ("resume",),
        ("jot",),
    )
    assert "Leave a jot for the next reader." in help["out"]
    assert [one["code"] for one in wrote] == [0, 0, 0], wrote
    assert "jot number 2" in history["out"]
    assert "There are 3 jots" in status["out"]
    assert "## Jots" in resume["out"]
    assert "jot number 2" in resume["out"]
    assert "jot number 0" in show["out"]
    assert "jot number 2" in tree.python(LIBRARY)
    tools, answer = tree.python(TOOL).splitlines()
    assert "'jot'" in tools
    assert "Jotted as" in answer
    shown, board = tree.python(PAGE).split("</html>")[:2]
    assert "jot number 1" in shown
    assert "Newest jots" in board
    assert "by the tool" in board
    settings = {"jot.most": 9}
    (Path(tree.repository) / "holdfast.toml").write_text(
        "".join(f"{name} = {value}\n" for name, value in settings.items())
    )
    assert "There are 4 jots" not in tree.commands(("status",))[0]["out"]


def test_doctor_verify_and_purge_know_it(tree: Tree) -> None:
    file = tree.repository / ".jots/default.md"
    tree.python(TOOL.replace("by the tool", "the secret word is xyzzy42"))
    tree.commands(("jot", "harmless"))
    kept = tree.repository / ".git/holdfast/jots/newest"
    assert "xyzzy42" in kept.read_text()
    assert "xyzzy42" in file.read_text()
    doctor, verify = tree.commands(("doctor", "--json"), ("verify",))
    assert json.loads(doctor["out"])["ok"] or doctor["code"] == 1, doctor
    assert "programs find the newest jot" in doctor["out"]
    assert verify["code"] == 0
    (purged,) = tree.commands(("purge", "--matching", "--yes"), given="xyzzy42")
    assert purged["code"] == 0, purged
    assert not kept.exists()
    assert "xyzzy42" not in file.read_text()
    assert "harmless" in file.read_text()


def test_a_hook_takes_the_word_of_a_built_in_feature_alone(inside: Tree, tmp_path: Path) -> None:
    answer = inside.hook("jot", text="by a program")
    assert json.loads(answer)["id"]


def test_a_session_starts_beside_it(beside: Tree) -> None:
    """Its settings and records are in the way of no hook."""
    beside.commands(("jot", "before"))
    (beside.repository / "holdfast.toml").write_text("jot.most = 1\n")
    beside.hook("claude", "SessionStart", source="startup")
    beside.hook("claude", "Stop")
    assert "hook failed" not in beside.commands(("status",))[0]["out"]
