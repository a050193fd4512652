"""The pack of a session carries the active reasoning of open RFCs, and only when there is one."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tests.rfc.world import (
    CHECKPOINT,
    DESIGN,
    DISCOVER,
    FOLDER,
    ID,
    STATE,
    Holdfast,
    Rfc,
    done,
    through,
)
from tests.session import test_pack as packs
from tests.session.test_claude_hooks import TOO_DEAR
from tests.session.test_pack import LINES, REASONS, states
from tests.session.world import WORK, hook, loaded_by, said

if TYPE_CHECKING:
    from holdfast.session.rules.model import SessionState
    from holdfast.session.rules.verdict import Reason

BOOTSTRAP = f"holdfast rfc bootstrap {ID}"


@pytest.fixture
def captured(repository: Path, holdfast: Holdfast) -> Holdfast:
    assert holdfast("checkpoint", *WORK, "--skip-git", "--skip-tracker").code == 0
    return holdfast


def packed(holdfast: Holdfast, *words: str) -> str:
    answer = holdfast("resume", *words, "--json")
    assert answer.code == 0, answer
    return str(answer.data["pack"])


def test_without_an_rfc_nothing_of_it_is_loaded_or_said(
    captured: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("holdfast.rfc")]:
        monkeypatch.delitem(sys.modules, name)
    assert "RFC" not in packed(captured)
    loaded = {name for name in sys.modules if name.startswith("holdfast.rfc")}
    assert loaded == {"holdfast.rfc", "holdfast.rfc.hooks"}, "the look whether there is one"


def test_the_notes_of_an_open_rfc(captured: Holdfast, begun: Rfc) -> None:
    through(begun, "discover", "design")
    text = packed(captured)
    assert BOOTSTRAP not in text
    before, _, after = text.partition(f"\n## RFC {ID} is in gate_a (Standard)\n")
    assert "- Current task: " in before
    assert after.startswith("- Latency against the audit log\n- DEC-001: the queue won narrowly")
    assert text == packed(captured)


def test_after_a_failed_gate_it_says_to_bootstrap(captured: Holdfast, failed: Rfc) -> None:
    text = packed(captured)
    heading = text.partition("```data")[0]
    assert f"Before you go on, run `{BOOTSTRAP}`." in heading
    assert "The theme is thin failure paths" in text
    assert "Resolved: none" not in text
    through(failed, "design")
    assert BOOTSTRAP not in packed(captured)


def test_a_restart_that_was_asked_for_is_one_too(captured: Holdfast, begun: Rfc) -> None:
    done(begun("write", "discover", given=DISCOVER))
    done(begun("transition", "discover-design", "--restart"))
    assert BOOTSTRAP in packed(captured)


def test_what_was_written_by_hand_is_in_it(captured: Holdfast, begun: Rfc) -> None:
    through(begun, "discover")
    text = CHECKPOINT.read_text("utf-8")
    CHECKPOINT.write_text(text + "- A tension of a person's own\n", "utf-8")
    assert "A tension of a person's own" in packed(captured)


def test_without_a_session_an_open_rfc_is_enough(failed: Rfc, holdfast: Holdfast) -> None:
    text = packed(holdfast)
    assert text.startswith(
        "Holdfast: No session was captured here; what else is on record follows.\n"
    )
    assert f"Before you go on, run `{BOOTSTRAP}`." in text
    assert re.findall("^## (.*)$", text, re.MULTILINE) == [
        "Work tree now",
        f"RFC {ID} is in design after round 1 of 2 of Gate-B (Standard)",
    ]
    context = json.dumps(said(hook("SessionStart", "SessionStart.startup")))
    assert BOOTSTRAP in context


def test_an_rfc_without_a_checkpoint_is_nothing_to_resume(begun: Rfc, holdfast: Holdfast) -> None:
    assert holdfast("resume").code == 3


def test_an_accepted_rfc_is_quiet(captured: Holdfast, begun: Rfc) -> None:
    through(begun, "discover", "design")
    for name in ("gate-b-pass", "review-approve"):
        done(begun("transition", name))
    assert "RFC" not in packed(captured)


def test_a_broken_rfc_does_not_keep_a_session_from_being_resumed(
    captured: Holdfast, failed: Rfc
) -> None:
    STATE.write_text("{ broken")
    CHECKPOINT.write_bytes(b"\xff")
    assert "thin failure paths" in packed(captured), "as the journal has it"
    shutil.move(str(FOLDER), "elsewhere")
    FOLDER.symlink_to("/etc")
    assert f"## RFC {ID}\n- It cannot be read: " in packed(captured)


def test_long_notes_leave_room_for_the_session(captured: Holdfast, begun: Rfc) -> None:
    through(begun, "discover")
    notes = "".join(f"- DEC-00{number}: {'long ' * 300}\n" for number in range(6))
    given_ = DESIGN.replace("### Decision Inter", f"{notes}\n### Decision Inter")
    done(begun("write", "design", given=given_))
    text = packed(captured)
    assert "- Remaining: " in text
    assert re.search(rf"\(\d more: holdfast rfc show {ID}\)", text)
    assert len(text) <= 9_000


def test_at_the_start_of_a_session_of_claude_code(
    failed: Rfc, captured: Holdfast, repository: Path
) -> None:
    """Its hook says the same, and loads nothing that a hook cannot afford."""
    context = json.dumps(said(hook("SessionStart", "SessionStart.startup")))
    assert BOOTSTRAP in context
    assert "thin failure paths" in context
    loaded = loaded_by("claude", "SessionStart", {"session_id": "first", "cwd": str(repository)})
    assert "holdfast.rfc.summary" in loaded
    assert not set(loaded) & TOO_DEAR


@given(
    states(),
    REASONS,
    some.integers(400, 12_000),
    some.lists(some.just(f"holdfast rfc bootstrap {'x' * 64}"), max_size=9),
    some.lists(some.tuples(some.just("RFC x"), some.lists(LINES, max_size=12)), max_size=3),
)
def test_its_budget_and_its_fence_hold(
    state: SessionState,
    reasons: list[Reason],
    budget: int,
    first: list[str],
    notes: list[tuple[str, list[str]]],
) -> None:
    lines = [(title, [one.replace("\n", " ") for one in texts]) for title, texts in notes]
    text = packs.packed(state, "FOREIGN", reasons, budget=budget, first=first, beside=lines)
    assert len(text) <= budget
    if "data\n" not in text:
        return  # nothing is known
    fence = re.findall(r"^(`{3,})data$", text, re.MULTILINE)[0]
    inside = text.partition(f"{fence}data\n")[2]
    assert f"\n{fence}" in f"\n{inside}", "the fence is not closed"
