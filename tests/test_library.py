"""What `import holdfast` gives, and that it costs nothing until it is used."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from tests.hooks.loaded import loaded_by_script

PAGE = Path(__file__).parent.parent / "docs" / "library.md"
NAMES = {
    *("Workspace", "open", "__version__"),
    *("Conflict", "Declined", "FenceLost", "HoldfastError", "NotAllowed", "NotFound", "Stopped"),
    *("StoreAway", "StreamClosed", "Usage", "VersionConflict", "Waiting"),
}
MEMBERS = {
    *("root", "journal", "close"),
    *("checkpoint", "resume", "sessions", "edits", "apply_edits"),
    *("note", "status", "history", "show", "diff", "restore", "snapshot"),
    *("conflicts", "settle"),
    *("agent", "loop", "gates", "budgets", "plans", "rfc", "stop", "release"),
}
PARTS = {
    "snapshot": {"create", "list", "show", "restore"},
    "gates": {"verify", "decide", "act", "named", "waiting"},
    "budgets": {"state", "limits", "check", "add", "report", "acknowledge", "reset"},
    "plans": {"new", "run", "resume", "abandon", "show"},
}


def public(thing: object) -> set[str]:
    return {name for name in vars(thing) if not name.startswith("_")}


def test_the_exported_names_are_these() -> None:
    assert set(holdfast.__all__) == NAMES
    for name in NAMES:
        assert getattr(holdfast, name) is not None
    with pytest.raises(AttributeError):
        holdfast.manager  # noqa: B018


def test_a_workspace_has_these_members(repository: Path) -> None:
    assert public(holdfast.Workspace) == MEMBERS
    with holdfast.open() as workspace:
        for name, members in PARTS.items():
            assert public(type(getattr(workspace, name))) == members, name


def test_every_member_has_a_docstring(repository: Path) -> None:
    with holdfast.open() as workspace:
        parts: list[type] = [holdfast.Workspace]
        parts += [type(getattr(workspace, name)) for name in PARTS]
    for part in parts:
        assert isinstance(part, type)
        for name in public(part):
            assert getattr(part, name).__doc__, f"{part}.{name}"


def test_the_examples_of_its_page_run_in_order(repository: Path) -> None:
    found = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    script = "\n".join(found)
    used = {
        node.attr
        for node in ast.walk(ast.parse(script))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "workspace"
    }
    # The page's text names these; they need nothing to be shown.
    assert MEMBERS - used == {
        *("root", "journal", "sessions", "diff", "edits", "apply_edits"),
        *("conflicts", "settle"),
    }
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "done 1 of 1" in done.stdout
    assert "not answered yet" in done.stdout


def test_the_types_that_its_page_names_are_there() -> None:
    named = re.findall(
        r"`(holdfast(?:\.[a-z_]+)+)\.([A-Z]\w+)`(?:, `([A-Z]\w+)`)?", PAGE.read_text()
    )
    assert len(named) >= 15
    for module, *types in named:
        source = Path(str(importlib.import_module(module).__file__)).read_text()
        for name in filter(None, types):
            assert f"class {name}(" in source, f"{module}.{name}"


def test_a_workspace_without_a_journal_can_be_read(repository: Path) -> None:
    with holdfast.open() as workspace:
        assert workspace.history() == []
        assert not workspace.status()["journal"]["exists"]
        assert workspace.budgets.state["stopped"] is None
        assert workspace.gates.waiting() == []
        assert workspace.snapshot.list() == []
        with pytest.raises(holdfast.NotFound):
            workspace.resume()
        with pytest.raises(holdfast.NotFound):
            workspace.show("note:default")
    assert not (repository / ".git" / "holdfast" / "journal.db").exists()


def test_importing_it_loads_nothing_heavy() -> None:
    script = "import sys, holdfast; print(' '.join(sys.modules))"
    loaded = loaded_by_script([sys.executable, "-I"], script)
    assert "holdfast" in loaded
    assert not loaded & {"apsw", "click", "json", "typing", "holdfast.api"}


def test_status_does_without_click(repository: Path) -> None:
    script = (
        "import sys; from holdfast.cli.frame import run; run(['status']);"
        "assert 'click' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_a_note_is_durable_and_idempotent(repository: Path) -> None:
    with holdfast.open(actor="builder") as workspace:
        first = workspace.note("done", id="step-1")
        again = workspace.note("done", id="step-1")
        assert (first["duplicate"], again["duplicate"]) == (False, True)
        (record,) = workspace.history(stream="note:*")
        assert record["actor"] == "builder"
        assert workspace.root == str(repository)


def test_a_folder_without_a_workspace_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(holdfast.NotFound):
        holdfast.open(str(tmp_path))
