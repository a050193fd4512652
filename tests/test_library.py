"""What `import holdfast` gives, and that it costs nothing until it is used."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast import registry
from holdfast.kernel.text import split_words
from tests.hooks.loaded import loaded_by_script

PAGE = Path(__file__).parent.parent / "docs" / "library.md"
NAMES = set(
    split_words(
        "Workspace open __version__ Conflict Declined FenceLost HoldfastError "
        "NotAllowed NotFound ServerChanged Stopped StoreAway StreamClosed Usage VersionConflict "
        "Waiting"
    )
)
MEMBERS = set(
    split_words(
        "find look_back why root journal close checkpoint resume resume_at_reset ask_session sessions edits "
        "apply_edits note status history show diff restore snapshot conflicts settle "
        "agent loop gates questions budgets plans rfc undo stop release"
    )
)
PARTS = {
    "snapshot": {"create", "list", "show", "restore"},
    "gates": {"verify", "decide", "act", "named", "waiting"},
    "questions": {"list", "answer"},
    "budgets": {"state", "limits", "check", "add", "report", "acknowledge", "reset"},
    "plans": {"new", "run", "resume", "abandon", "show"},
    "undo": {"prompts", "preview", "run"},
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
    offered = {name for feature in registry.features() for name in feature.api}
    assert public(holdfast.Workspace) | offered == MEMBERS
    with holdfast.open() as workspace:
        for name, members in PARTS.items():
            assert public(type(getattr(workspace, name))) == members, name


def test_every_member_has_a_docstring(repository: Path) -> None:
    with holdfast.open() as workspace:
        parts: list[type] = [holdfast.Workspace]
        parts += [type(getattr(workspace, name)) for name in PARTS]
    for target in [target for feature in registry.features() for target in feature.api.values()]:
        assert registry.load(target).__doc__, target
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
    assert MEMBERS - used == set(
        split_words(
            "root journal sessions diff edits apply_edits resume_at_reset ask_session conflicts settle"
        )
    )
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


def test_a_note_loads_no_other_feature(repository: Path) -> None:
    script = (
        "import sys, holdfast\n"
        "with holdfast.open() as workspace: workspace.note('done')\n"
        "print(' '.join(sys.modules))"
    )
    loaded = loaded_by_script([sys.executable], script)
    assert "holdfast.note.write" in loaded
    features = {
        name.split(".")[1]
        for name in loaded
        if name.count(".") > 1 and not name.endswith(".feature")
    }
    assert not features & {"fleet", "loop", "gates", "budgets", "plans", "rfc", "maintenance"}


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


TWO = [
    {"id": "yes", "name": "Yes", "pros": "It is ready", "cons": "It is public"},
    {"id": "no", "name": "No", "pros": "It is safe", "cons": "It is late"},
]
MISUSES: dict[str, tuple[Callable[[holdfast.Workspace], object], str]] = {
    "options of texts": (
        lambda ws: ws.gates.decide("Send it?", context="It is new.", options=["yes", "no"]),  # type: ignore[list-item]
        "options[0] must have id, name, pros and cons, not 'yes'.",
    ),
    "an option without pros": (
        lambda ws: ws.gates.decide(
            "Send it?",
            context="It is new.",
            options=[{"id": "yes", "name": "Yes", "cons": "Public"}, TWO[1]],  # type: ignore[list-item,typeddict-item]
        ),
        "options[0].pros is missing.",
    ),
    "a cost of text": (
        lambda ws: ws.budgets.add(cost="3"),  # type: ignore[arg-type]
        "cost must be a finite number from 0 on, not '3'.",
    ),
}


@pytest.mark.parametrize("name", MISUSES)
def test_a_misuse_is_a_usage_with_the_name_of_the_argument(repository: Path, name: str) -> None:
    call, message = MISUSES[name]
    with holdfast.open() as workspace, pytest.raises(holdfast.Usage) as refused:
        call(workspace)
    assert refused.value.message == message


def test_a_call_with_other_arguments_is_a_type_error(repository: Path) -> None:
    with holdfast.open() as workspace:
        for call in (
            lambda: workspace.gates.verify(built="It", how=["Look"], nam="x"),  # type: ignore[call-arg]
            lambda: workspace.gates.verify(built="It"),  # type: ignore[call-arg]
            lambda: workspace.budgets.check(costs=3),  # type: ignore[call-arg]
            lambda: workspace.note("a", "b"),  # type: ignore[call-arg]
        ):
            with pytest.raises(TypeError):
                call()
        assert workspace.history() == []


def test_results_are_dictionaries_and_money_is_in_dollars(repository: Path) -> None:
    with holdfast.open(actor="driver") as workspace:
        workspace.budgets.add(cost=3.6, step="report")
        state = workspace.budgets.state
        assert (state["added"]["cost"], state["steps"]["report"]["cost"]) == (3.6, 3.6)
        assert workspace.budgets.limits()["limits"]["stop"]["cost"] == 50
        with workspace.agent("Secondary-A", feature="feature_02_parser") as me:
            beat = me.beat(step="Writing")
            assert (beat["agent_id"], beat["fence"]) == ("Secondary-A", me.fence)
        gate = workspace.gates.decide("Send it?", context="It is new.", options=TWO)  # type: ignore[arg-type]
        asked = gate.state["asked"]
        assert asked is not None
        assert (asked["by"], asked["agent"]) == ("driver", "")


def test_the_files_of_a_programs_calls_are_hidden_from_git(repository: Path) -> None:
    def untracked() -> list[str]:
        command = ["git", "status", "--porcelain", "--untracked-files=normal"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return sorted(line[3:] for line in done.stdout.splitlines() if line.startswith("??"))

    (repository / ".autopilot").mkdir()
    (repository / ".autopilot" / "config.yaml").write_text("thresholds: {stop: {cost: $5}}\n")
    before = untracked()
    assert ".autopilot/" in before
    with holdfast.open(actor="nightly") as workspace:
        with workspace.agent("Secondary-A", feature="feature_02_parser") as me:
            me.send("Agent-Primary", "Done")
            me.complete()
        with workspace.loop("parser").step("EXECUTE", tasks=["1"]) as step:
            step.done("1", commit="3f2a9c1")
        workspace.budgets.add(cost=0.4)
        workspace.budgets.check()
        workspace.checkpoint(session="parser-1", task="Write it", skip_git=True)
    for name in ("agent_checkpoints", "conductor", ".ccc-progress.md"):
        assert (repository / name).exists(), name
    assert untracked() == before, "what was there before stays visible, and nothing else is seen"
    # A person who removes the lines wants the files in git, and they stay visible.
    (repository / ".git" / "info" / "exclude").write_text("")
    with (
        holdfast.open() as workspace,
        workspace.loop("parser").step("EXECUTE", tasks=["1", "2"]) as step,
    ):
        step.done("2", commit="3f2a9c2")
    assert "conductor/" in untracked()
