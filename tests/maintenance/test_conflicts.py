"""An editor read a file, the journal changed a value, and the editor saves another value: both texts are
shown until a person chooses one. The same for every kind of file."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import holdfast as library
from holdfast.kernel import clock
from holdfast.kernel.errors import NotAllowed
from holdfast.kernel.streams import accept_from_inbox
from holdfast.kernel.views.absorb import CONFLICTS_FILE
from tests.cli.conftest import Answer, Holdfast
from tests.gates.person import Terminal, does
from tests.rfc import world
from tests.rfc.world import CHECKPOINT, DISCOVER, STATE, Rfc

AGENT = Path("agent_checkpoints/secondary_a.json")
TRACK = Path("conductor/tracks/demo/metadata.json")
PROGRESS = Path(".ccc-progress.md")
holdfast, rfc = world.holdfast, world.rfc


class Story(NamedTuple):
    """A file, and what each side makes of one of its values."""

    file: Path
    place: str
    first: str
    edited: str
    kept: str
    begin: Callable[[Callable[..., Answer]], Any]
    change: Callable[[Callable[..., Answer]], Any]
    look: Callable[[Callable[..., Answer]], Any]


def _agent(call: Callable[..., Answer]) -> None:
    call("agent", "start", "Secondary-A", "--feature", "feature_02")
    call("agent", "beat", "Secondary-A", "--step", "the first step", "--recovery", "Read spec.md.")


def _track(call: Callable[..., Answer]) -> None:
    call("loop", "start", "EXECUTE", "--track", "demo", "--tasks-total", "9")
    call("loop", "progress", "--track", "demo", "--notes", "the first task")


STORIES = [
    Story(
        AGENT,
        "current_step",
        "the first step",
        "written by a person",
        "the second step",
        _agent,
        lambda call: call("agent", "beat", "Secondary-A", "--step", "the second step"),
        lambda call: call("agent", "beat", "Secondary-A"),
    ),
    Story(
        TRACK,
        "loop_state/checkpoints/EXECUTE/notes",
        "the first task",
        "written by a person",
        "the second task",
        _track,
        lambda call: call("loop", "progress", "--track", "demo", "--notes", "the second task"),
        lambda call: call("loop", "progress", "--track", "demo", "--tasks-completed", "1"),
    ),
    Story(
        PROGRESS,
        "current",
        "the first task",
        "written by a person",
        "the second task",
        lambda call: call("checkpoint", "--issue", "ENG-12", "--task", "the first task"),
        lambda call: call("checkpoint", "--task", "the second task"),
        lambda call: call("checkpoint", "--status", "going on"),
    ),
]


@pytest.fixture(autouse=True)
def passing_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second passes at each look at the clock. Within one second no line tells the copies apart."""
    began, seconds = clock.now(), itertools.count()
    monkeypatch.setattr(clock, "now", lambda: began + 1000 * next(seconds))


@pytest.fixture(params=STORIES, ids=lambda story: story.file.name)
def met(request: pytest.FixtureRequest, repository: Path, holdfast: Holdfast) -> Story:
    """The story up to the editor's save, and one more command."""
    story: Story = request.param
    story.begin(holdfast)
    copy = story.file.read_text()
    assert story.first in copy
    done = story.change(holdfast)
    assert done.code == 0, done.err
    assert story.kept in story.file.read_text()
    story.file.write_text(copy.replace(story.first, story.edited, 1))
    done = story.look(holdfast)
    assert done.code == 0, done.err
    return story


def test_both_texts_are_shown_and_none_is_lost(met: Story, holdfast: Holdfast) -> None:
    assert met.kept in met.file.read_text(), "the file shows what the journal says"
    (one,) = holdfast("conflicts", "--json").data["conflicts"]
    assert (one["place"], one["edited"], one["kept"]) == (met.place, met.edited, met.kept)
    for words in (("status",), ("doctor",), ("conflicts",)):
        said = " ".join(holdfast(*words).out.split())
        assert met.edited in said, (words, said)
        assert met.kept in said, (words, said)
    assert "holdfast conflicts" in holdfast("status").out


def test_it_is_said_once(met: Story, holdfast: Holdfast) -> None:
    met.look(holdfast)
    holdfast("doctor", "--fix")
    assert len(holdfast("conflicts", "--json").data["conflicts"]) == 1


def test_a_person_takes_the_edit(met: Story, holdfast: Holdfast) -> None:
    (one,) = holdfast("conflicts", "--json").data["conflicts"]
    done = holdfast("conflicts", one["id"][:6], "--take", "edited")
    assert done.code == 0, done.err
    assert f"is now: {met.edited}" in done.out
    # The prompt of a session is written anew by the next checkpoint.
    text = met.file.read_text().partition("## Continuation Prompt")[0]
    assert met.edited in text
    assert met.kept not in text
    _is_over(holdfast)


def test_a_person_keeps_what_is_there(met: Story, holdfast: Holdfast) -> None:
    (one,) = holdfast("conflicts", "--json").data["conflicts"]
    seen = does("conflicts", one["id"], "--take", "kept")
    assert seen.code == 0, seen.screen
    assert met.edited in " ".join(seen.screen.replace("┃", "").split()), (
        "the person sees what they drop"
    )
    text = met.file.read_text()
    assert met.kept in text
    assert met.edited not in text
    _is_over(holdfast)


def test_a_person_edits_the_value_again(met: Story, holdfast: Holdfast) -> None:
    text = met.file.read_text()
    if met.file == PROGRESS:  # there the conflict is a line of its own, too
        text = "".join(
            line for line in text.splitlines(keepends=True) if "was edited by hand" not in line
        )
    met.file.write_text(text.replace(met.kept, "the last word"))
    met.look(holdfast)
    assert "the last word" in met.file.read_text()
    _is_over(holdfast)


def _is_over(holdfast: Holdfast) -> None:
    assert holdfast("conflicts", "--json").data["conflicts"] == []
    assert "edited by hand to" not in holdfast("status").out
    assert "edited by hand to" not in holdfast("doctor").out


def test_the_doctor_needs_no_list_to_find_them(met: Story, holdfast: Holdfast) -> None:
    Path(".git/holdfast", CONFLICTS_FILE).unlink()
    assert met.edited in holdfast("doctor").out


def test_the_library_lists_and_ends_them(met: Story) -> None:
    with library.open() as workspace:
        (one,) = workspace.conflicts()
        assert one["edited"] == met.edited
        with pytest.raises(NotAllowed, match="Only a person may drop the edit by hand"):
            workspace.settle(one["id"], "kept")
        assert workspace.settle(one["id"], "edited")["place"] == met.place
        assert workspace.conflicts() == []


def test_no_agent_drops_an_edit_by_hand(
    met: Story, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    (one,) = holdfast("conflicts", "--json").data["conflicts"]
    refused = holdfast("conflicts", one["id"], "--take", "kept")
    assert (refused.code, "no terminal" in refused.err) == (4, True), refused.err
    monkeypatch.setenv("CLAUDECODE", "1")
    terminal = Terminal("conflicts", one["id"], "--take", "kept")
    seen = terminal.leave()
    assert (seen.code, "an agent's environment" in " ".join(seen.screen.split())) == (4, True)
    assert holdfast("conflicts", "--json").data["conflicts"] == [one]
    assert "drop the edit by hand" in holdfast("history", "--json").out, "the attempts are recorded"
    assert holdfast("conflicts", one["id"], "--take", "edited").code == 0, "what the editor wanted"


def test_a_choice_does_not_come_from_the_inbox(met: Story, holdfast: Holdfast) -> None:
    (one,) = holdfast("conflicts", "--json").data["conflicts"]
    command = {"do": "settle", "conflict": one["id"], "take": "kept"}
    assert accept_from_inbox(one["stream"], command) is None


def test_an_unknown_conflict_is_not_found(repository: Path, holdfast: Holdfast) -> None:
    assert holdfast("conflicts").out == "No edit by hand met a newer change.\n"
    assert holdfast("conflicts", "abc", "--take", "kept").code == 3
    assert holdfast("conflicts", "--take", "kept").code == 2


# RFCs: a field, a group, and what both added


def test_a_field_of_an_rfc_that_both_changed(rfc: Rfc, holdfast: Holdfast) -> None:
    rfc("init", "auth-model")
    rfc("write", "discover", given=DISCOVER)
    copy = json.loads(STATE.read_text())
    assert rfc("transition", "discover-design").code == 0
    assert json.loads(STATE.read_text())["current_phase"] == "design"
    STATE.write_text(json.dumps({**copy, "current_phase": "review", "note": "mine"}, indent=2))
    rfc("show", "auth-model")
    assert rfc("write", "discover", given=DISCOVER).code == 0
    now = json.loads(STATE.read_text())
    assert (now["current_phase"], now["note"]) == ("design", "mine")
    (one,) = holdfast("conflicts", "--json").data["conflicts"]
    assert (one["place"], one["edited"], one["kept"]) == ("current_phase", "review", "design")
    assert holdfast("conflicts", one["id"], "--take", "edited").code == 0
    assert json.loads(STATE.read_text())["current_phase"] == "review"


def test_bullets_that_both_added_to_a_group_stay(rfc: Rfc, holdfast: Holdfast) -> None:
    rfc("init", "auth-model")
    rfc("write", "discover", given=DISCOVER)
    copy = CHECKPOINT.read_text()
    more = DISCOVER.replace("- The cache is per process\n", "- The cache is per process\n- Ours\n")
    assert rfc("write", "discover", given=more).code == 0
    CHECKPOINT.write_text(
        copy.replace("- Firm: no new service\n", "- Firm: no new service\n- Mine\n")
    )
    assert holdfast("doctor", "--fix").code == 0
    text = CHECKPOINT.read_text()
    assert "- Ours\n" in text
    assert "- Mine\n" in text
    assert holdfast("conflicts", "--json").data["conflicts"] == []


def test_a_status_file_of_an_older_copy_sets_no_status_back(
    repository: Path, holdfast: Holdfast
) -> None:
    """The editor read `STATUS` before the agent blocked, and adds a line of its own."""
    Path("feature_02").mkdir()
    Path("feature_02/STATUS").write_text("STATUS: IN_PROGRESS\n")
    holdfast("agent", "start", "Secondary-A", "--feature", "feature_02")
    file = Path("feature_02/STATUS")
    copy = file.read_text()
    assert holdfast("agent", "block", "Secondary-A", "no database").code == 0
    assert "STATUS: BLOCKED" in file.read_text()
    file.write_text(copy.replace("READY_FOR_SYNC: false", "READY_FOR_SYNC: true"))
    holdfast("agent", "beat", "Secondary-A")
    assert json.loads(AGENT.read_text())["status"] == "BLOCKED"


def test_a_save_of_older_files_takes_nothing_out(repository: Path, holdfast: Holdfast) -> None:
    """The progress of a session and the checkpoint of an agent, each saved as it was two commands ago."""
    stated = ("checkpoint", "--session", "s1", "--skip-git", "--skip-tracker")
    agent = ("agent", "beat", "Secondary-A", "--step")
    assert holdfast(*stated, "--task", "the parser").code == 0
    assert holdfast("agent", "start", "Secondary-A", "--feature", "feature_01_one").code == 0
    files = [repository / ".ccc-progress.md", *repository.glob("**/secondary_a.json")]
    assert len(files) == 2
    older = [file.read_text("utf-8") for file in files]
    assert holdfast(*stated, "--task", "the writer", "--decision", "two passes").code == 0
    assert holdfast(*agent, "two", "--done", "one").code == 0

    for file, text in zip(files, older, strict=True):
        file.write_text(text, "utf-8")
    assert holdfast(*stated).code == 0
    assert holdfast(*agent, "three").code == 0

    progress, checkpoint = (file.read_text("utf-8") for file in files)
    assert "two passes" in progress
    assert "the writer" in progress
    assert '"one"' in checkpoint
    assert '"current_step": "three"' in checkpoint
    shown = holdfast("conflicts", "--json").data["conflicts"]
    assert [(one["path"], one["place"], one["edited"]) for one in shown] == [
        (".ccc-progress.md", "lines", "(removed)")
    ]
    assert "two passes" in shown[0]["kept"]
