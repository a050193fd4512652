"""Mending a plan on the way: what is not done may be written anew, and nothing that matters is lost."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import Any

from holdfast.kernel.rules import Person
from holdfast.kernel.workspace import Workspace
from holdfast.plans.edits import NEW, OLD
from holdfast.plans.news import Attendant
from tests.plans.world import VERIFY, World, auto
from tests.processes import PATIENCE, PERSON, wait_for

SECRET = "ghp_" + "a1B2" * 9


class Says(Attendant):
    """A person who gives one answer after the other."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[list[str]] = []

    def edited(self, path: str, changes: Any) -> str:
        self.asked.append(list(changes))
        return self.answers.pop(0)

    def person(self, workspace: Workspace, purpose: str, shown: Sequence[str]) -> Person:
        return PERSON


def test_a_task_that_failed_can_be_mended_in_its_file(world: World) -> None:
    world.plan("1/01", auto(world.note("one")) + auto("false") + auto(world.note("three")))
    world.begin(tries=1)
    assert world.halted(begin=False).reason == "error"
    world.plan("1/01", auto(world.note("one")) + auto("true") + auto(world.note("three")))
    state = world.run(begin=False, edited=NEW)
    assert (state["status"], world.noted()) == ("done", ["one", "three"])


def test_a_checkpoint_with_issues_can_be_written_anew(world: World) -> None:
    world.plan("1/01", auto("true") + VERIFY, autonomous="false")
    world.halted()
    (gate,) = world.open_gates()
    world.answer(gate, "the page is blank", no=True)
    assert world.halted(begin=False).reason == "issues_reported"
    text = auto("true") + VERIFY.replace("The page", "The other page")
    world.plan("1/01", text, autonomous="false")
    assert world.halted(begin=False, edited=NEW).reason == "waiting_for_person"
    (again,) = world.open_gates()
    assert "The other page" in world.shown(again)


def test_a_checkpoint_that_nobody_answered_yet_can_be_written_anew(world: World) -> None:
    world.plan("1/01", auto("true") + VERIFY, autonomous="false")
    world.halted()
    (old,) = world.open_gates()
    text = auto("true") + VERIFY.replace("The page", "The other page")
    world.plan("1/01", text, autonomous="false")
    assert world.halted(begin=False, edited=NEW).exit_code == 4, "an open question is a person's"
    assert world.open_gates() == [old]
    halted = world.halted(begin=False, edited=NEW, attendant=Says())
    assert halted.reason == "waiting_for_person"
    (new,) = world.open_gates()
    assert new != old, "the old question is withdrawn"
    assert "The other page" in world.shown(new)
    world.answer(new, "approved")
    assert world.run(begin=False)["status"] == "done"


def test_who_chooses_what_cannot_be_is_asked_again(world: World) -> None:
    world.plan("1/01", auto(world.note("one")) + auto(f"test -e ready && {world.note('old')}"))
    world.begin(tries=1)
    world.halted(begin=False)
    (world.root / "ready").touch()
    world.plan("1/01", auto(world.note("other")) + auto(world.note("new")))
    person = Says(NEW, OLD)
    world.run(begin=False, attendant=person)
    assert "task 1 is done" in person.asked[1][0]
    assert world.noted() == ["one", "old"]


def test_a_secret_in_the_text_is_no_change_of_it(world: World) -> None:
    first = auto(f"echo {SECRET} > used")
    world.plan("1/01", first + auto("false") + auto(world.note("three")))
    world.begin(tries=1)
    world.halted(begin=False)
    world.plan("1/01", first + auto("true") + auto(world.note("three")))
    person = Says(NEW)
    assert world.run(begin=False, attendant=person)["status"] == "done"
    assert person.asked == [["task 2 changed"]]
    assert world.noted() == ["three"]


def test_a_secret_in_a_task_that_was_begun_reaches_it_with_the_new_text(world: World) -> None:
    world.plan("1/01", auto(f"echo {SECRET}; false"))
    world.begin(tries=1)
    world.halted(begin=False)
    world.plan("1/01", auto(f"echo {SECRET} > {world.log}"))
    world.run(begin=False, edited=NEW)
    assert world.noted() == [SECRET]


# The transponder


def test_what_somebody_writes_into_the_transponder_is_kept(world: World) -> None:
    world.plan("1/01", auto("true") + VERIFY, autonomous="false")
    world.halted()
    file = world.root / ".autopilot/TRANSPONDER.md"
    text = file.read_text()
    text = text.replace("## Position\n", "## Position\n\nlook at the fridge\n")
    file.write_text(f"{text}call ada first\n\n## Mine\n\nown words\n")
    world.halted(begin=False)
    shown = file.read_text()
    assert "## Notes\n\nlook at the fridge\ncall ada first" in shown
    assert "## Mine\n\nown words" in shown
    assert shown.count("- **Status:**") == 1, "what is ours is not taken for theirs"

    file.write_text(shown.replace("## Plans\n", "## Plans\n\none more\n"))
    world.halted(begin=False)
    shown = file.read_text()
    assert all(one in shown for one in ("one more", "look at the fridge", "own words"))
    assert shown.count("## Notes") == 1


def test_another_run_takes_over_what_was_written_and_not_the_board_of_the_first(
    world: World,
) -> None:
    world.plan("1/01", auto("true") + VERIFY, autonomous="false")
    world.halted()
    first = world.id
    file = world.root / ".autopilot/TRANSPONDER.md"
    file.write_text(file.read_text() + "call ada first\n")
    world.halted()
    shown = file.read_text()
    assert "call ada first" in shown
    assert first not in shown
    assert "## Notes\n\ncall ada first\n" in shown


def test_notes_that_the_page_has_no_room_for_are_not_lost(world: World) -> None:
    world.plan("1/01", auto("true") + VERIFY, autonomous="false")
    world.halted()
    file = world.root / ".autopilot/TRANSPONDER.md"
    many = "\n".join(f"note {number}" for number in range(120))
    file.write_text(f"{file.read_text()}\n## Mine\n\n{many}\n")
    world.halted(begin=False)
    assert len(file.read_text().splitlines()) < 100
    file.write_text(file.read_text().replace("note 1\n", "note one\n"))
    world.halted(begin=False)
    file.write_text(file.read_text().replace("note one\n", ""))
    world.halted(begin=False)
    last = world.workspace.journal.latest(
        stream=f"flight:{world.id}", kind="edited_outside", limit=1
    )
    assert last[0]["body"]["notes"].endswith("note 118\nnote 119")


def test_a_plan_file_that_is_removed_during_a_run_is_noticed(world: World) -> None:
    world.plan("1/01", auto(f"rm {world.root}/plans/1-01.md") + auto(world.note("two")))
    halted = world.halted()
    assert (halted.reason, halted.exit_code) == ("plan_edited", 8)
    assert "plans/1-01.md was edited: the file is gone" in halted.text
    assert world.noted() == []
    world.run(begin=False, edited=OLD)
    assert world.noted() == ["two"]


def test_what_happens_to_the_file_during_the_last_task_is_said(world: World) -> None:
    world.plan("1/01", auto(f"rm {world.root}/plans/1-01.md"))
    world.plan("1/02", auto(f"echo more >> {world.root}/plans/1-02.md"))
    world.plan("1/03", auto("true"))
    assert world.run()["status"] == "done"
    assert sorted(world.told("edited")) == [
        "plans/1-01.md is gone",
        "plans/1-02.md was edited after its last task began, and is not gone by",
    ]


# What is said


def test_after_an_alert_the_words_say_what_to_type(world: World) -> None:
    world.plan("1/01", auto("false"))
    world.begin(tries=3)
    world.halted(begin=False)
    code, answer, _ = world.holdfast("plan", "resume", world.id)
    ack, again = "holdfast guard ack errors", f"holdfast plan resume {world.id}"
    assert (code, answer["data"]["reason"], answer["next"]) == (8, "alert", [ack, again])
    said = world.process("plan", "resume", world.id).communicate(timeout=PATIENCE)[0]
    assert f"Go on with: {ack}\n            {again}" in said
    assert world.holdfast("plan", "show", world.id)[1]["next"] == [ack, again]


def test_after_an_edit_the_words_say_what_to_type(world: World) -> None:
    world.plan("1/01", auto(f"rm {world.root}/plans/1-01.md") + auto("true"))
    world.halted()
    again = f"holdfast plan resume {world.id} --edited"
    said = world.process("plan", "resume", world.id).communicate(timeout=PATIENCE)[0]
    assert f"Go on with: {again} old\n            {again} new" in said


def test_a_gate_of_a_plan_is_found_by_the_name_that_its_author_gave(world: World) -> None:
    named = VERIFY.replace("<task ", '<task name="look" ')
    world.plan("1/01", auto("true") + named, autonomous="false")
    world.halted()
    (gate,) = world.open_gates()
    code, answer, _ = world.holdfast("gate", "show", "look")
    assert (code, answer["data"]["id"]) == (0, gate)
    assert world.holdfast("gate", "show", "loo")[0] == 3


def test_what_would_be_run_is_counted_as_what_is_run(world: World) -> None:
    world.plan("1/01", auto("true") + VERIFY, autonomous="false")
    said = world.process("plan", "run", "--dry-run", "plans").communicate(timeout=PATIENCE)[0]
    assert "1 task, 1 checkpoint" in said
    assert world.halted().text == world.open_gates()[0]
    assert world.state()["total"] == 1


def test_a_state_has_one_sign_wherever_it_is_shown(world: World) -> None:
    world.plan("1/01", auto("true"))
    world.plan("1/02", auto("true") + VERIFY, autonomous="false")
    world.plan("2/01", auto("true"))
    world.halted()
    drawn = world.process("plan", "graph", "--run", world.id).communicate(timeout=PATIENCE)[0]
    shown = world.process("plan", "show", world.id).communicate(timeout=PATIENCE)[0]
    for sign in ("✓", "◆", "·"):
        assert f"{sign} " in drawn
        assert f"{sign} " in shown


def test_an_attempt_that_was_cut_off_has_no_time(world: World) -> None:
    world.plan("1/01", auto(f"{world.note('begun')}; sleep 600"))
    run = world.process("plan", "run", "plans")
    wait_for(lambda: world.noted() == ["begun"])
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=PATIENCE)
    assert "ending 1 program" in said
    shown = world.process("plan", "show", "--tasks").communicate(timeout=PATIENCE)[0]
    assert "1/01#1" in shown
    assert "0.0 s" not in shown
