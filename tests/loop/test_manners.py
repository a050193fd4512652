"""Blockers that stand, hints that work, and what is refused or said."""

from __future__ import annotations

import os
from typing import Any

import pytest

import holdfast as library
from holdfast.kernel.errors import NotAllowed
from holdfast.loop.rules.model import RUNNABLE
from tests.cli.conftest import Holdfast
from tests.gates.person import does
from tests.loop.world import World
from tests.processes import PERSON


def test_an_edit_that_was_undone_after_a_refusal_stays_undone(world: World) -> None:
    world.start("PLAN")
    world.edit(lambda document: document.update(owner="me"))
    with pytest.raises(Exception, match="PLAN is IN_PROGRESS"):
        world.do("advance")
    world.edit(lambda document: document.pop("owner"))
    world.do("progress", fields={"current_phase": 1})
    assert "owner" not in world.file()


def test_a_blocker_stands_wherever_the_track_goes(world: World, holdfast: Holdfast) -> None:
    world.start("EXECUTE", tasks_total=1)
    world.do("block", reason="no key")
    assert holdfast("loop", "start", "EVALUATE_PLAN").code == 0
    for words in (["resume"], ["pass"], ["advance"], ["resume"]):
        answer = holdfast("loop", *words)
        assert answer.code == (0 if words == ["pass"] else 8)
    assert "Current Step: EXECUTE" in answer.out
    assert "Reason: no key" in answer.out
    assert world.loop()["current_step"] == "EVALUATE_PLAN"
    assert does("loop", "start", "EXECUTE").code == 0
    assert holdfast("loop", "resume").code == 0


def test_a_start_elsewhere_can_resolve_the_blockers(world: World, holdfast: Holdfast) -> None:
    world.start("EXECUTE", tasks_total=1)
    world.do("block", reason="no key")
    assert "loop start PLAN --resolve" in holdfast("loop", "advance").out
    assert does("loop", "start", "PLAN", "--resolve").code == 0
    assert world.file()["blockers"][0]["status"] == "RESOLVED"
    assert holdfast("loop", "resume").code == 0


def test_no_agent_resolves_a_blocker_that_was_for_a_person(
    world: World, holdfast: Holdfast
) -> None:
    world.start("EXECUTE", tasks_total=1)
    world.do("block", reason="no key")
    for words in (["EXECUTE"], ["PLAN", "--resolve"], ["EXECUTE", "--reset"]):
        refused = holdfast("loop", "start", *words, "--json")
        assert (refused.code, refused.envelope["error"]["kind"]) == (4, "no_person")
    with (
        pytest.raises(NotAllowed, match="resolve the blocker of EXECUTE: no key"),
        library.open(str(world.root)) as opened,
        opened.loop("demo").step("EXECUTE"),
    ):
        pass
    forged: Any = dict(PERSON)
    with pytest.raises(NotAllowed):
        world.start("EXECUTE", by=forged)
    assert world.file()["blockers"][0]["status"] == "ACTIVE"
    seen = does("loop", "start", "EXECUTE")
    assert seen.code == 0, seen.screen
    assert "resolve the blocker of EXECUTE: no key" in seen.screen
    assert world.file()["blockers"][0]["status"] == "RESOLVED"


def test_no_agent_allows_itself_more_fix_cycles(world: World, holdfast: Holdfast) -> None:
    refused = holdfast("loop", "start", "FIX", "--max-fix-cycles", "99", "--track", "demo")
    assert refused.code == 4
    assert holdfast("loop", "start", "FIX", "--max-fix-cycles", "2", "--track", "demo").code == 0
    assert holdfast("loop", "start", "FIX", "--max-fix-cycles", "3").code == 4
    assert world.loop()["max_fix_cycles"] == 2


@pytest.mark.parametrize("option", ["--track", "--track-dir", "--metadata"])
def test_an_empty_word_is_not_the_only_track(world: World, holdfast: Holdfast, option: str) -> None:
    world.start("PLAN")
    answer = holdfast("loop", "show", option, "")
    assert (answer.code, f"{option} is empty" in answer.err) == (2, True)


@pytest.mark.parametrize(
    "words", [["show"], ["resume"], ["run", "--with", "run.toml", "--dry-run"]]
)
def test_a_track_is_named_as_a_run_of_plans_is(
    world: World, holdfast: Holdfast, words: list[str]
) -> None:
    world.start("EXECUTE", tasks_total=1)
    holdfast("loop", "start", "PLAN", "--track", "other")
    with open("run.toml", "w") as file:
        file.write("".join(f"[steps.{one}]\ncommand = ['true']\n" for one in RUNNABLE))
    assert holdfast("loop", *words).code == 2, "there are two"
    named = holdfast("loop", *words, "other", "--json")
    assert named.data["track"] == "other"
    assert named.out == holdfast("loop", *words, "--track", "other", "--json").out
    assert holdfast("loop", *words, "other", "--track", "other").code == 0
    twice = holdfast("loop", *words, "other", "--track", "demo")
    assert (twice.code, "Which track" in twice.err) == (2, True)
    assert holdfast("loop", *words, "").code == 2


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
@pytest.mark.clause("AMB-LOOP-18")
def test_no_file_in_the_files_place_is_refused_by_all(
    world: World, holdfast: Holdfast, make: object
) -> None:
    world.start("EXECUTE", tasks_total=2)
    world.metadata.unlink()
    assert callable(make)
    make(str(world.metadata))
    for words in (["task-done", "1.1"], ["show"], ["resume"], ["start", "PLAN"], ["pass"]):
        answer = holdfast("loop", *words)
        assert (answer.code, "is corrupt and was left as it is" in answer.err) == (1, True)
    assert world.kinds() == ["started"]
    assert holdfast("restore", answer.err.partition("`holdfast restore ")[2][:8]).code == 0
    assert holdfast("loop", "task-done", "1.1").code == 0


def test_a_running_step_is_to_be_ended_first(world: World, holdfast: Holdfast) -> None:
    world.start("PLAN")
    answer = holdfast("loop", "advance")
    assert 'holdfast loop pass, or holdfast loop fail "why"' in answer.err


@pytest.mark.parametrize("step", ["COMPLETE", "NOPE"])
@pytest.mark.parametrize("words", [["advance"], ["progress", "--notes", "x"], ["fail", "x"]])
def test_no_hint_names_a_start_that_is_refused(
    world: World, holdfast: Holdfast, step: str, words: list[str]
) -> None:
    world.write({"loop_state": {"current_step": step}})
    answer = holdfast("loop", *words)
    assert answer.code == 5
    assert f"loop start {step}" not in answer.err
    assert "holdfast loop start PLAN" in answer.err
    assert holdfast("loop", "resume", "--json").envelope["next"] == []


def test_where_there_are_two_tracks_a_hint_names_its_own(world: World, holdfast: Holdfast) -> None:
    world.start("PLAN")
    holdfast("loop", "start", "PLAN", "--track", "other")
    answer = holdfast("loop", "advance", "--track", "demo")
    assert "holdfast loop pass --track demo" in answer.err
    assert 'holdfast loop fail --track demo "why"' in answer.err


def test_an_output_that_is_not_there_is_said(world: World, holdfast: Holdfast) -> None:
    world.plan("- [ ] 1.1 A")
    world.start("PLAN")
    words = ["--output", "conductor/tracks/demo/plan.md", "--output", "no.md", "--notes", "n"]
    answer = holdfast("loop", "pass", *words)
    assert answer.code == 0
    assert answer.err == "warning: There is no file no.md; its name is recorded.\n"
