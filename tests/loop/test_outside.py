"""Others write the same file: merged, remembered, and never lost to a broken one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.text import split_words
from holdfast.kernel.views import projection
from tests.cli.conftest import Holdfast
from tests.conftest import Git
from tests.loop.world import World
from tests.loop.writers import at_once


def test_an_edit_of_another_tool_is_taken_in(world: World) -> None:
    world.start("EXECUTE", tasks_total=9)
    world.edit(
        lambda document: document["loop_state"]["checkpoints"].update(
            PLAN={"status": "PASSED", "started_at": "2026-11-15T11:00:00Z"}
        )
    )
    world.do("task_done", task="1.1")
    assert world.checkpoint("PLAN")["status"] == "PASSED"
    assert world.checkpoint("EXECUTE")["tasks_completed"] == 1
    assert world.kinds() == ["started", "edited_outside", "task_done"]
    assert world.events()[1]["changed"] == ["loop_state/checkpoints/PLAN"]


def test_what_another_tool_took_out_stays_out(world: World) -> None:
    world.write({"note": "x", "loop_state": {}})
    world.start("PLAN")
    world.edit(lambda document: document.pop("note"))
    world.do("progress", fields={"current_phase": 1})
    assert "note" not in world.file()


@pytest.mark.clause("AMB-LOOP-18")
@pytest.mark.parametrize(
    "content", [b"", b'{"loop_state": ', b"[]", b"\xff\xfe{}", b'{"loop_state": 7}'], ids=repr
)
def test_a_corrupt_file_is_never_written_over(
    world: World, holdfast: Holdfast, content: bytes
) -> None:
    world.start("EXECUTE", tasks_total=3)
    world.do("task_done", task="1.1")
    good = world.metadata.read_bytes()
    world.metadata.write_bytes(content)
    for words in (
        ["task-done", "1.2"],
        ["start", "EXECUTE"],
        ["advance"],
        ["show"],
        ["resume"],
        ["fail", "x"],
    ):
        answer = holdfast("loop", *words)
        assert answer.code == 1, answer.err
        assert "conductor/tracks/demo/metadata.json is corrupt and was left as it is" in answer.err
        assert world.metadata.read_bytes() == content
    back = answer.err.partition("`holdfast restore ")[2][:8]
    assert holdfast("restore", back).code == 0
    assert world.metadata.read_bytes() == good
    kept = list(Path(world.workspace.quarantine).glob("*metadata.json"))
    assert content in [path.read_bytes() for path in kept], "the broken one is kept"
    assert holdfast("loop", "task-done", "1.2").code == 0
    assert world.checkpoint("EXECUTE")["completed_tasks"] == ["1.1", "1.2"]


@pytest.mark.clause("AMB-LOOP-18")
def test_the_doctor_leaves_a_corrupt_file_alone_and_says_the_way_out(
    world: World, holdfast: Holdfast
) -> None:
    world.start("PLAN")
    world.metadata.write_text("{ broken")
    answer = holdfast("doctor", "--fix")
    assert "is corrupt and was left as it is" in answer.out
    assert "holdfast restore" in answer.out
    assert world.metadata.read_text() == "{ broken"


@pytest.mark.clause("AMB-LOOP-18")
def test_a_file_that_was_corrupt_from_the_beginning(world: World, holdfast: Holdfast) -> None:
    world.write("{ not json")
    answer = holdfast("loop", "start", "PLAN", "--track", "demo")
    assert answer.code == 1
    assert "No version of it is in the journal" in answer.err
    assert world.metadata.read_text() == "{ not json"


def test_a_file_that_was_removed_is_written_again(world: World) -> None:
    world.start("EXECUTE", tasks_total=2)
    world.do("task_done", task="1.1")
    world.metadata.unlink()
    world.do("task_done", task="1.2")
    assert world.checkpoint("EXECUTE")["completed_tasks"] == ["1.1", "1.2"]
    world.do("pass")
    assert world.checkpoint("EXECUTE")["status"] == "PASSED"


def test_a_whole_track_that_was_removed_comes_back(world: World, git: Git) -> None:
    world.start("EXECUTE", tasks_total=2)
    world.do("task_done", task="1.1")
    git("clean", "-fdxq", at=world.root)
    assert not world.folder.exists()
    world.do("task_done", task="1.2")
    assert world.checkpoint("EXECUTE")["completed_tasks"] == ["1.1", "1.2"]
    assert [event["event"] for event in world.events()] == list(
        split_words("started task_done removed_outside task_done")
    )


def test_an_older_file_in_another_worktree_does_not_win(
    world: World, git: Git, tmp_path: Path
) -> None:
    world.start("EXECUTE", tasks_total=3)
    world.do("task_done", task="1.1")
    git("add", "conductor", at=world.root)
    git("commit", "--quiet", "--message", "track", at=world.root)
    world.do("task_done", task="1.2")
    git("worktree", "add", "--quiet", str(tmp_path / "other"), at=world.root)
    other = World((tmp_path / "other").resolve())
    other.now = world.now
    assert other.checkpoint("EXECUTE")["completed_tasks"] == ["1.1"]
    other.do("task_done", task="1.3")
    assert other.checkpoint("EXECUTE")["completed_tasks"] == ["1.1", "1.2", "1.3"]
    assert other.checkpoint("EXECUTE")["tasks_completed"] == 3
    other.close()


def test_a_metadata_file_that_is_a_link_is_called_one_and_stays_one(
    world: World, holdfast: Holdfast
) -> None:
    aim = world.root / "elsewhere.json"
    world.folder.mkdir(parents=True, exist_ok=True)
    aim.write_text('{"loop_state": {"current_step": "PLAN"}}\n')
    world.metadata.symlink_to("../../../elsewhere.json")
    answer = holdfast("loop", "start", "PLAN", "--track", "demo")
    assert answer.code == 1
    assert "metadata.json cannot be used and was left as it is: a link to" in answer.err
    assert "Let the folder be the link" in answer.err
    assert (world.metadata.is_symlink(), aim.stat().st_size) == (True, 41)


def test_a_link_out_of_the_workspace_is_refused(world: World, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    world.folder.parent.mkdir(parents=True)
    (world.folder.parent / "linked").symlink_to(elsewhere)
    with pytest.raises(HoldfastError, match="leaves the workspace"):
        World(world.root, "linked")
    assert list(elsewhere.iterdir()) == []


def test_a_file_of_five_megabytes(world: World) -> None:
    big = {f"key {number}": "x" * 990 for number in range(5_050)}
    world.write({"big": big, "loop_state": {}})
    assert world.metadata.stat().st_size > 5_000_000
    world.start("EXECUTE", tasks_total=2)
    world.do("task_done", task="1.1")
    assert world.file()["big"] == big
    assert world.checkpoint("EXECUTE")["tasks_completed"] == 1
    small = world.workspace.journal.latest(stream="loop:demo", limit=1)[0]
    assert len(json.dumps(small["body"])) < 5000, "a record is what changed, not the file"


@pytest.mark.parametrize(
    "stamp", ["2026-11-15T11:00:00", "2026-11-15T13:00:00+02:00", "yesterday", 7]
)
def test_times_without_a_zone_and_worse(world: World, holdfast: Holdfast, stamp: object) -> None:
    plan = {"status": "IN_PROGRESS", "started_at": stamp, "agent": "a", "last_updated": stamp}
    world.write({"loop_state": {"current_step": "PLAN", "checkpoints": {"PLAN": plan}}})
    answer = holdfast("loop", "show", "--json")
    assert answer.code == 0
    assert any("started_at" in one for one in answer.data["problems"]["PLAN"])
    world.do("progress", fields={"current_phase": 1})
    assert world.checkpoint("PLAN")["started_at"] == stamp, "not ours to correct"


def test_a_file_that_was_not_put_in_place_is_not_taken_for_an_edit(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.start("EXECUTE", tasks_total=2)

    def broken(*_: object) -> str:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(projection, "put_in_place", broken)
    done = world.do("task_done", task="1.1")
    assert "metadata.json was not written" in done.warnings[0]
    assert "completed_tasks" not in world.checkpoint("EXECUTE"), "the file is behind"
    checkpoint = world.state()["document"]["loop_state"]["checkpoints"]["EXECUTE"]
    assert checkpoint["completed_tasks"] == ["1.1"]
    monkeypatch.undo()
    world.do("task_done", task="1.2")
    assert world.checkpoint("EXECUTE")["completed_tasks"] == ["1.1", "1.2"]
    assert "edited_outside" not in world.kinds()


def test_history_catches_up_after_a_crash_before_it(world: World) -> None:
    world.start("EXECUTE", tasks_total=9)
    world.do("task_done", task="1.1")
    whole = world.history.read_text()
    first = whole.splitlines(keepends=True)[0]
    world.history.write_text(first + '{"version": 2, "id": "cut o')
    world.do("task_done", task="1.2")
    lines = world.history.read_text().splitlines()
    assert lines[0] + "\n" == first
    told = [json.loads(line) for line in lines if line.endswith("}")]
    assert [event["version"] for event in told] == [1, 2, 3]


def test_history_that_was_removed_is_made_anew(world: World) -> None:
    world.start("EXECUTE", tasks_total=9)
    world.do("task_done", task="1.1")
    before = world.events()
    world.history.unlink()
    world.do("task_done", task="1.2")
    assert world.events()[:2] == before
    assert len(world.events()) == 3


def test_history_of_another_journal_is_kept(world: World) -> None:
    world.folder.mkdir(parents=True)
    foreign = {"version": 7, "id": "ff", "event": "started"}
    world.history.write_text(json.dumps(foreign) + "\n")
    world.start("PLAN")
    world.do("progress", fields={"current_phase": 1})
    assert [event["event"] for event in world.events()] == ["started", "started", "progressed"]
    assert world.events()[0] == foreign


def test_a_secret_is_in_no_file(world: World) -> None:
    token = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    world.start("PLAN")
    world.do("fail", reason=f"the call with {token} failed")
    for path in (world.metadata, world.history):
        assert token not in path.read_text()
        assert "[redacted:" in path.read_text()


@pytest.mark.clause("LOOP-48", "LOOP-45")
def test_two_of_us_and_two_scripts_lose_nothing(world: World) -> None:
    """Holdfast and shell scripts on one file at once; the full size is in tests/proof."""
    at_once(world, count=2, updates=6)
