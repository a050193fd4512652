"""A field of a checkpoint is one row of a table: a made-up row appears wherever a field has a place."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.session.world import every_byte_under

ROOT = Path(__file__).parents[2]
TABLE = "holdfast/session/rules/fields.py"
ROW = """    Field(
        "risks",
        LINES,
        adds=True,
        heading="Risks",
        option="--risk",
        help="A risk; repeatable.",
        tool="Risks, new ones.",
        in_pack="Risk",
        in_comment="Risks",
        in_history="at risk",
    ),
    Field("prompt", TEXT"""
LIBRARY = """
import asyncio, json, sys
import holdfast
from holdfast.session import mcp, sessions
from holdfast.session.rules import comment

with holdfast.open() as workspace:
    workspace.checkpoint(session="s1", risks=["The library is slow"], skip_git=True)
    state = sessions.read(workspace.place, "s1")
    print(json.dumps({
        "risks": state["progress"]["risks"],
        "comment": comment.write(state),
        "tool": mcp.TOOLS[0].parameters["properties"]["risks"],
        "history": [record["kind"] for record in workspace.history()],
    }))
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the source with one more row in the table."""
    folder = tmp_path_factory.mktemp("source")
    left_out = shutil.ignore_patterns("__pycache__", "*.pyc")
    shutil.copytree(ROOT / "src" / "holdfast", folder / "holdfast", ignore=left_out)
    table = folder / TABLE
    text = table.read_text()
    assert text.count('    Field("prompt", TEXT') == 1
    table.write_text(text.replace('    Field("prompt", TEXT', ROW))
    return folder


def run(source: Path, *words: str, given: str = "") -> str:
    done = subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "PYTHONPATH": str(source)},
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_made_up_field_appears_in_all_faces(repository: Path, source: Path) -> None:
    program = ("-m", "holdfast")
    # A session of a version that did not know the field.
    run(ROOT / "src", *program, "checkpoint", "--session", "s1", "--task", "Parse", "--skip-git")
    assert "--risk TEXT" in run(source, *program, "checkpoint", "--help")
    words = ("--session", "s1", "--skip-git", "--risk", "The parser is slow")
    run(source, *program, "checkpoint", *words)
    document = json.dumps({"risks": ["The disk is full"]})
    run(
        source,
        *program,
        "checkpoint",
        "--session",
        "s1",
        "--skip-git",
        "--from",
        "-",
        given=document,
    )
    said = json.loads(run(source, "-c", LIBRARY))
    risks = ["The parser is slow", "The disk is full", "The library is slow"]
    assert said["risks"] == risks
    assert f"**Risks:** {'; '.join(risks)}" in said["comment"]
    assert said["tool"] == {
        "description": "Risks, new ones.",
        "items": {"type": "string"},
        "type": "array",
    }
    section = "\n".join(["## Risks", *(f"- {risk}" for risk in risks)])
    assert section in Path(".ccc-progress.md").read_text("utf-8")
    assert "Risk: The disk is full" in run(source, *program, "resume", "--session", "s1")
    assert "at risk: The disk is full" in run(source, *program, "history", "session:s1")

    edited = Path(".ccc-progress.md").read_text("utf-8").replace("disk is full", "disk is empty")
    Path(".ccc-progress.md").write_text(edited, "utf-8")
    run(source, *program, "checkpoint", "--session", "s1", "--skip-git", "--status", "half done")
    assert "- The disk is empty" in Path(".ccc-progress.md").read_text("utf-8")


def test_a_version_that_does_not_know_a_field_keeps_its_section(
    repository: Path, source: Path
) -> None:
    words = ("checkpoint", "--session", "s1", "--skip-git")
    run(source, "-m", "holdfast", *words, "--risk", "The parser is slow")
    run(ROOT / "src", "-m", "holdfast", *words, "--task", "Parse")
    run(source, "-m", "holdfast", *words, "--task", "Print")
    assert b"The parser is slow" in every_byte_under(repository / ".git" / "holdfast")
    assert "- The parser is slow" in Path(".ccc-progress.md").read_text("utf-8")
