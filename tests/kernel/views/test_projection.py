"""Views are written whole, and a crash at any step is repaired by the next command."""

from __future__ import annotations

import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from holdfast.kernel import clock
from holdfast.kernel.errors import StoreAway
from tests.kernel.views.scene import STREAM, Scene, run_git


def killed(done: subprocess.CompletedProcess[str]) -> bool:
    return done.returncode == -signal.SIGKILL


CRASH_BEFORE_PROJECTION = "crash.register('before projection', die)\nnote(sys.argv[2])"
CRASH_BEFORE_COMMIT = "crash.register('before append', die)\nnote(sys.argv[2])"
# The exchange happens, what follows does not.
CRASH_AFTER_EXCHANGE = "crash.register('after placing', die)\nnote(sys.argv[2])"


def test_a_new_view_is_created_and_later_replaced_whole(scene: Scene) -> None:
    first = scene.note("one")
    assert first["views"] == [{"path": ".notes/default.md", "status": "written", "reason": ""}]
    assert scene.text() == scene.rendered()
    inode = scene.view.stat().st_ino

    scene.note("two")

    assert scene.texts() == ["one", "two"]
    assert scene.text() == scene.rendered()
    assert scene.view.stat().st_ino != inode
    assert os.listdir(scene.view.parent) == ["default.md"]


def test_a_replaced_view_keeps_its_mode(scene: Scene) -> None:
    scene.note("one")
    scene.view.chmod(0o600)
    scene.note("two")
    assert scene.view.stat().st_mode & 0o777 == 0o600


def test_a_repeated_id_writes_nothing_twice(scene: Scene) -> None:
    outcome = scene.note("one")
    aside = scene.asides()
    again = scene.note("one", id=outcome["id"])
    assert again["duplicate"]
    assert scene.texts() == ["one"]
    assert scene.asides() == aside
    assert scene.text() == scene.rendered()


def test_a_file_that_was_there_before_the_first_capture_is_taken_in(scene: Scene) -> None:
    # Such as a clone of a repository whose notes were committed: the journal is new, the file old.
    scene.view.parent.mkdir()
    scene.view.write_text("# Notes: default\n\n- written before holdfast\n\n## Plans\n\nmy own\n")

    scene.note("one")
    scene.note("two")

    assert "written before holdfast" in scene.bodies()
    assert scene.texts() == ["written before holdfast", "one", "two"]
    assert "## Plans\n\nmy own" in scene.text()


def test_an_unparsable_file_before_the_first_capture_goes_to_quarantine(scene: Scene) -> None:
    scene.view.parent.mkdir()
    scene.view.write_text("a shopping list\n")
    scene.note("one")
    scene.note("two")
    assert [kept.read_text() for kept in scene.quarantined()] == ["a shopping list\n"]


# Crashes


def test_a_crash_before_the_first_projection_is_repaired(scene: Scene) -> None:
    assert killed(scene.child(CRASH_BEFORE_PROJECTION, "one"))
    assert not scene.view.exists()
    assert scene.texts() == ["one"]

    scene.note("two")

    assert scene.text() == scene.rendered()
    assert scene.kinds() == ["noted", "noted"]


def test_a_crash_before_a_replacement_is_repaired(scene: Scene) -> None:
    scene.note("one")
    before = scene.text()
    assert killed(scene.child(CRASH_BEFORE_PROJECTION, "two"))
    assert scene.text() == before

    scene.note("three")

    assert scene.texts() == ["one", "two", "three"]
    assert scene.text() == scene.rendered()
    assert scene.kinds() == ["noted"] * 3


def test_repair_alone_finishes_a_projection(scene: Scene) -> None:
    scene.note("one")
    assert killed(scene.child(CRASH_BEFORE_PROJECTION, "two"))
    scene.repair()
    assert scene.text() == scene.rendered()
    assert scene.kinds() == ["noted"] * 2


def test_a_crash_right_after_the_exchange_is_no_edit(scene: Scene) -> None:
    scene.note("one")
    assert killed(scene.child(CRASH_AFTER_EXCHANGE, "two"))
    assert scene.text() == scene.rendered()

    scene.note("three")

    assert scene.kinds() == ["noted"] * 3
    assert scene.text() == scene.rendered()


@pytest.mark.parametrize("is_first", [True, False])
def test_a_crash_between_staging_and_commit_leaves_nothing_half_written(
    scene: Scene, is_first: bool
) -> None:
    kept = [] if is_first else ["one"]
    for text in kept:
        scene.note(text)
    before = scene.text() if kept else None

    assert killed(scene.child(CRASH_BEFORE_COMMIT, "never committed"))

    assert (scene.text() if scene.view.exists() else None) == before
    leftovers = [file for file in scene.asides() if "never" in file.read_text()]
    assert len(leftovers) == 1
    for text in ("two", "three"):
        scene.note(text)
    assert scene.texts() == [*kept, "two", "three"]
    assert scene.text() == scene.rendered()
    assert "never committed" not in scene.bodies()
    assert set(scene.kinds()) == {"noted"}


def test_a_command_repeated_after_a_crash_is_done_once(scene: Scene) -> None:
    code = "crash.register('before projection', die)\nnote(sys.argv[2], id=sys.argv[3])"
    id = "a" * 26
    assert killed(scene.child(code, "one", id))
    assert scene.note("one", id=id)["duplicate"]
    assert scene.texts() == ["one"]
    assert scene.text() == scene.rendered()


def test_a_commit_whose_answer_was_lost_is_no_edit(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An fsync that fails after the log was written: the commit may yet turn out to have happened.
    scene.note("one")
    journal = scene.workspace.journal
    commit = journal.commit

    def commit_without_answer(*arguments: Any, **options: Any) -> None:
        commit(*arguments, **options)
        raise StoreAway("disk I/O error")

    with monkeypatch.context() as patch:
        patch.setattr(journal, "commit", commit_without_answer)
        with pytest.raises(StoreAway):
            scene.note("two", id="a" * 32)

    assert scene.note("two", id="a" * 32)["duplicate"]
    scene.note("three")
    assert scene.texts() == ["one", "two", "three"]
    assert scene.kinds() == ["noted"] * 3
    assert scene.text() == scene.rendered()


def test_an_edit_after_a_crash_does_not_remove_what_the_editor_could_not_see(scene: Scene) -> None:
    scene.note("one")
    assert killed(scene.child(CRASH_BEFORE_PROJECTION, "two"))
    # The file still shows the state before "two".
    scene.view.write_text(scene.text() + "- by hand\n")

    scene.note("three")

    assert sorted(scene.texts()) == ["by hand", "one", "three", "two"]
    assert scene.text() == scene.rendered()


def test_a_crash_after_an_edit_was_recorded_does_not_record_it_twice(scene: Scene) -> None:
    # The raced edit is a record, and the process dies before its file is put away.
    scene.note("one")
    code = """
def edit_first():
    with open(workspace.root + "/.notes/default.md", "a") as file:
        file.write("- by hand\\n")
crash.register("before placing", edit_first)
unlink = os.unlink
os.unlink = lambda path, **options: die() if path.endswith(".edited") else unlink(path, **options)
note("two")
"""
    assert killed(scene.child(code))

    scene.note("three")

    assert scene.bodies().count('"text":"by hand"') == 1
    assert sorted(scene.texts()) == ["by hand", "one", "three", "two"]
    assert scene.text() == scene.rendered()


def test_the_tool_folder_ignores_itself_also_after_a_crash_on_its_first_file(scene: Scene) -> None:
    scene.tools.mkdir()
    (scene.tools / ".gitignore").touch()
    scene.note("one")
    scene.workspace.prepare_tool_folder()
    assert scene.git("status", "--porcelain", "-uall") == "?? .notes/default.md\n"


# A writer that lives long remembers what it loaded, and must notice when that is no longer so


def test_a_long_lived_writer_sees_what_others_wrote(scene: Scene) -> None:
    for number in range(5):
        scene.note(f"mine {number}")
        assert scene.child("note(sys.argv[2])", f"theirs {number}").returncode == 0
    scene.note("last")
    wanted = [f"{whose} {number}" for number in range(5) for whose in ("mine", "theirs")]
    assert scene.texts() == [*wanted, "last"]
    assert scene.text() == scene.rendered()


def test_a_writer_whose_journal_was_reopened_forgets_what_it_knew(scene: Scene) -> None:
    writer = scene.writer

    def note(stream: str, text: str) -> None:
        writer.execute(stream, {"add": text, "by": "a"}, actor="a", now=clock.now())

    for stream in (STREAM, "note:other"):
        note(stream, "first")
    for number in range(3):
        scene.workspace.close()
        note(STREAM, f"mine {number}")
        scene.workspace.close()
        assert scene.child("note(sys.argv[2])", f"theirs {number}").returncode == 0
        # As many changes on the new connection as there were on the one before.
        note("note:other", f"mine {number}")
        note(STREAM, f"again {number}")
    kinds = ("mine", "theirs", "again")
    wanted = [f"{kind} {number}" for number in range(3) for kind in kinds]
    assert scene.texts() == ["first", *wanted]
    assert scene.text() == scene.rendered()


def test_two_threads_with_one_writer_see_each_other(scene: Scene) -> None:
    writer = scene.writer

    def write(name: str) -> None:
        for number in range(10):
            command = {"add": f"{name} {number}", "by": name}
            writer.execute(STREAM, command, actor=name, now=clock.now())

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(write, name) for name in ("left", "right")]:
            done.result()
    scene.repair()
    assert len(scene.texts()) == 20
    assert set(scene.kinds()) == {"noted"}
    assert scene.text() == scene.rendered()


# Worktrees: one journal, a view in each


def other_worktree(scene: Scene) -> Scene:
    scene.git("commit", "--quiet", "--allow-empty", "-m", "start")
    place = scene.root.parent / "second"
    run_git(scene.root, "worktree", "add", "--quiet", str(place))
    return Scene(place)


def test_each_worktree_has_its_own_view_of_the_one_stream(scene: Scene) -> None:
    scene.note("one")
    other = other_worktree(scene)
    other.note("two")
    assert other.texts() == ["one", "two"]
    assert other.text() == other.rendered()
    scene.repair()
    assert scene.text() == scene.rendered()
    other.close()


def test_an_edit_of_a_stale_view_removes_nothing_that_it_did_not_show(scene: Scene) -> None:
    scene.note("one")
    other = other_worktree(scene)
    other.note("two")
    scene.view.write_text(scene.text() + "- by hand\n")

    scene.note("three")

    assert sorted(scene.texts()) == ["by hand", "one", "three", "two"]
    other.close()


def test_a_new_worktree_with_an_older_file_removes_nothing(scene: Scene) -> None:
    scene.note("one")
    scene.git("add", ".notes")
    scene.git("commit", "--quiet", "-m", "notes")
    scene.note("two")
    other = other_worktree(scene)
    assert "one" in other.text()
    assert "two" not in other.text()

    other.note("three")

    assert other.texts() == ["one", "two", "three"]
    assert other.text() == other.rendered()
    other.close()


def test_a_power_cut_that_undoes_the_exchange_takes_nothing_out(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal is synced, the folder is not: the old file has its name back."""
    scene.note("one")
    held = scene.root / "held"
    os.link(scene.view, held)
    scene.note("two")
    os.rename(held, scene.view)
    # The machine was started after all that.
    started = clock.now() + 1000
    monkeypatch.setattr(clock, "booted_at", lambda: started)

    scene.note("three")

    assert scene.texts() == ["one", "two", "three"]
    assert scene.kinds() == ["noted", "noted", "noted"]
    assert scene.text() == scene.rendered()


def wait_for_a_later_file_time(scene: Scene) -> None:
    """The times that the kernel gives to files move in steps of milliseconds."""
    written, probe = scene.view.stat().st_mtime_ns, scene.root / "probe"
    while not probe.exists() or probe.stat().st_mtime_ns <= written:
        probe.touch()
    probe.unlink()


def test_the_same_old_file_that_a_person_puts_back_is_an_edit(scene: Scene) -> None:
    """No power was cut: the machine runs since before the write."""
    scene.note("one")
    for late in ("two", "three"):
        held = scene.root / "held"
        os.link(scene.view, held)
        scene.note(late)
        wait_for_a_later_file_time(scene)
        os.rename(held, scene.view)
        scene.repair()
        assert scene.texts() == ["one"], late
    assert scene.kinds() == ["noted", *["noted", "edited_outside"] * 2]
    assert scene.text() == scene.rendered()


def test_a_view_that_a_power_cut_left_empty_is_written_again(scene: Scene) -> None:
    scene.note("one")
    scene.note("two")
    status = scene.view.stat()
    os.truncate(scene.view, 0)
    os.utime(scene.view, ns=(status.st_atime_ns, status.st_mtime_ns))

    scene.repair()

    assert scene.kinds() == ["noted", "noted"]
    assert scene.text() == scene.rendered()
