"""Back to any prompt: what the person sees, and that the work tree is byte for byte as it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.kernel.workspace import discover
from tests.cli import conftest as command_line
from tests.cli.conftest import Holdfast
from tests.conftest import Git
from tests.gates.person import Terminal
from tests.session import world
from tests.undo import scene
from tests.undo.scene import Prompts, bad_idea, picture_of

holdfast, rich, prompts = command_line.holdfast, scene.rich, scene.prompts
home = world.home


def prompt(prompts: Prompts, text: str, act: object = None) -> None:
    prompts.begin(text)
    if callable(act):
        act()
    prompts.end()


def test_a_bad_idea_is_taken_back_byte_for_byte(
    rich: Path, git: Git, prompts: Prompts, holdfast: Holdfast
) -> None:
    prompt(prompts, "Explain the code")
    (rich / "one.py").write_text("mine, before the prompt\n")
    before = picture_of(rich)
    prompt(prompts, "Reformat everything", lambda: bad_idea(rich, git))
    after, head = picture_of(rich), git("rev-parse", "HEAD")
    index = (rich / ".git/index").read_bytes()

    shown = holdfast("undo")
    assert shown.code == 0, shown.err
    assert "Reformat everything" in shown.out
    assert "agent's commit" in shown.out
    assert "notes.txt" in shown.out
    line = next(line for line in shown.out.splitlines() if "notes.txt" in line)
    assert "untracked" in line
    assert "untracked" not in next(line for line in shown.out.splitlines() if "sub/four.py" in line)
    for line in ("run.sh  its mode comes back", "empty/inner/  comes back", "left empty/  goes"):
        assert any(
            " ".join(each.split()).startswith(" ".join(line.split()))
            for each in shown.out.splitlines()
        )
    assert picture_of(rich) == after, "it only looked"

    done = holdfast("undo", "--yes", "--json")
    assert done.code == 0, done.out
    assert picture_of(rich) == before
    assert git("rev-parse", "HEAD") == head, "HEAD moves only with --commits"
    assert (rich / ".git/index").read_bytes() == index
    assert done.data["commits"] == [git("log", "-1", "--format=%h %s").strip()]

    assert holdfast("redo", "--yes").code == 0
    assert picture_of(rich) == after
    assert holdfast("undo", "--yes").code == 0
    assert picture_of(rich) == before


def test_commits_and_the_index_go_back_on_demand(
    rich: Path, git: Git, prompts: Prompts, holdfast: Holdfast
) -> None:
    (rich / "staged").write_text("staged\n")
    git("add", "staged")
    before, head, status = picture_of(rich), git("rev-parse", "HEAD"), git("status", "--short")
    prompts.begin("Commit")
    bad_idea(rich, git)
    git("checkout", "-q", "-b", "other")
    prompts.end()
    theirs = git("rev-parse", "HEAD").strip()
    assert holdfast("undo", "--yes", "--commits").code == 0
    assert picture_of(rich) == before
    assert git("rev-parse", "HEAD") == head
    assert git("symbolic-ref", "--short", "HEAD").strip() == "main"
    assert git("status", "--short") == status
    assert git("rev-parse", "other").strip() == theirs, "a branch that the agent made stays"


def test_the_list_and_several_prompts(rich: Path, prompts: Prompts, holdfast: Holdfast) -> None:
    start = picture_of(rich)
    for number in range(3):
        prompt(
            prompts,
            f"Prompt {number}",
            lambda number=number: (rich / f"made-{number}").write_text(f"{number}\n"),
        )
    rows = holdfast("undo", "--list", "--json").data["prompts"]
    assert [(one["number"], one["text"]) for one in rows] == [
        (1, "Prompt 2"),
        (2, "Prompt 1"),
        (3, "Prompt 0"),
    ]
    assert rows[0]["size"] == {"files": 1, "added": 1, "removed": 0}
    assert rows[0]["client"] == "claude"
    assert holdfast("undo", "2", "--yes").code == 0
    assert sorted(path.name for path in rich.glob("made-*")) == ["made-0"]
    assert "Prompt 0" in holdfast("undo", "--dry-run").out
    assert holdfast("undo", "--yes").code == 0
    assert picture_of(rich) == start
    listed = holdfast("undo", "--list").out
    assert listed.count("undone") == 3
    assert holdfast("undo").code == 3, "there is no other"
    back = holdfast("undo", "--list", "--json").data["prompts"][1]
    assert back["kind"] == "undo"
    assert holdfast("undo", "--id", back["id"], "--yes").code == 0
    assert sorted(path.name for path in rich.glob("made-*")) == ["made-1", "made-2"]


def test_only_these_paths(rich: Path, git: Git, prompts: Prompts, holdfast: Holdfast) -> None:
    before = picture_of(rich)
    prompt(prompts, "Change", lambda: bad_idea(rich, git))
    after = picture_of(rich)
    assert holdfast("undo", "notes.txt", "sub", "--yes").code == 0
    now = picture_of(rich)
    for path in {*before, *after, *now}:
        expected = before if path == "notes.txt" or path.startswith("sub") else after
        assert now.get(path) == expected.get(path), path
    assert holdfast("undo", "--yes").code == 0
    assert picture_of(rich) == before


def test_edits_of_the_person_since_are_merged(
    rich: Path, prompts: Prompts, holdfast: Holdfast
) -> None:
    one = rich / "one.py"
    prompt(prompts, "Change", lambda: one.write_text(one.read_text().replace("line 2\n", "two\n")))
    one.write_text(one.read_text().replace("line 15\n", "fifteen\n"))
    (rich / "mine").write_text("mine\n")
    prompt(prompts, "Again", lambda: one.write_text(one.read_text().replace("line 8\n", "eight\n")))
    assert holdfast("undo", "2", "--yes").code == 0
    assert one.read_text() == "".join(
        "fifteen\n" if number == 15 else f"line {number}\n" for number in range(20)
    )
    assert (rich / "mine").read_text() == "mine\n"


def test_a_conflict_is_shown_with_both_sides_and_changes_nothing(
    rich: Path, git: Git, prompts: Prompts, holdfast: Holdfast
) -> None:
    prompt(prompts, "Change", lambda: bad_idea(rich, git))
    one = rich / "one.py"
    one.write_text(one.read_text().replace("line seven\n", "my seven\n"))
    (rich / "new/file.bin").write_bytes(b"mine\0")
    now = picture_of(rich)
    refused = holdfast("undo", "--yes", "--json")
    assert refused.code == 5
    assert refused.envelope["error"]["kind"] == "undo_conflict"
    sides = {one["path"]: one["sides"] for one in refused.data["conflicts"]}
    assert sides.keys() == {"one.py", "new/file.bin"}
    assert "+my seven" in sides["one.py"]
    assert "+line 7" in sides["one.py"]
    assert "and nothing was changed" in holdfast("undo", "--yes").out
    seen = Terminal("undo").leave()
    assert (seen.code, "and nothing was changed" in " ".join(seen.screen.split())) == (5, True)
    next = holdfast("undo", "1", "one.py", "new", "--json").envelope["next"]
    assert next == ["holdfast undo one.py new --skip-conflicts --yes"]
    assert picture_of(rich) == now
    assert holdfast("undo", "--yes", "--skip-conflicts").code == 0
    assert one.read_text() == now["one.py"][1].decode()
    assert (rich / "notes.txt").exists()


def test_an_interrupted_prompt_is_taken_back_too(
    rich: Path, prompts: Prompts, holdfast: Holdfast
) -> None:
    before = picture_of(rich)
    prompts.begin("Never ends")
    (rich / "one.py").unlink()
    assert "still at work" in holdfast("undo").out
    prompt(prompts, "The next one")
    rows = holdfast("undo", "--list", "--json").data["prompts"]
    assert [one["how"] for one in rows] == ["", "interrupted"]
    assert holdfast("undo", "2", "--yes").code == 0
    assert picture_of(rich) == before


def test_an_agent_can_look_and_not_undo(
    rich: Path,
    git: Git,
    prompts: Prompts,
    holdfast: Holdfast,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prompt(prompts, "Change", lambda: bad_idea(rich, git))
    now = picture_of(rich)
    monkeypatch.setenv("CLAUDECODE", "1")
    assert "Change" in holdfast("undo", "--list").out
    assert "notes.txt" in holdfast("undo").out
    refused = holdfast("undo", "--yes", "--json")
    assert refused.code == 4
    assert refused.envelope["error"]["kind"] == "no_person"
    assert refused.data["files"]
    assert "error: Only a person may take back" in holdfast("undo", "--yes").out
    assert picture_of(rich) == now
    monkeypatch.delenv("CLAUDECODE")
    assert holdfast("undo", "--yes").code == 0
    monkeypatch.setenv("CLAUDECODE", "1")
    assert holdfast("redo", "--yes").code == 4


def test_two_agents_in_one_folder(rich: Path, prompts: Prompts, holdfast: Holdfast) -> None:
    """What changed while both were at work is told apart by what is known of their edits."""
    workspace = discover()
    prompts.begin("First agent", session="a")
    (rich / "one.py").write_text("a alone\n")
    prompts.begin("Second agent", session="b", client="codex")
    (rich / "three.py").write_text("b\n")
    (rich / "two.py").write_text("nobody knows who\n")
    known = Path(workspace.prepare_private("shared"))
    from holdfast.kernel.digest import id_of

    (known / id_of(str(rich / "three.py"))).write_text('{"session":"b"}\n')
    prompts.end(session="a")
    (rich / "sub/four.py").write_text("b alone\n")
    prompts.end(session="b", client="codex")

    shown = holdfast("undo", "2", "--yes", "--json").data
    assert [one["path"] for one in shown["files"]] == ["one.py"]
    assert shown["others"] == ["three.py"]
    assert shown["mixed"] == ["two.py"]
    assert (rich / "three.py").read_text() == "b\n"
    assert (rich / "sub/four.py").read_text() == "b alone\n"
    assert (rich / "one.py").read_text().startswith("line 0\n")
    assert holdfast("undo", "2", "two.py", "--yes").code == 0
    assert (rich / "two.py").read_text().startswith("line 0\n")


def test_a_redo_brings_back_what_an_undo_of_running_work_took(
    rich: Path, prompts: Prompts, holdfast: Holdfast
) -> None:
    """An undo is the person's own: no session that is still at work has a part in it."""
    prompts.begin("Stopped with Esc")
    (rich / "one.py").unlink()
    (rich / "new.py").write_text("new\n")
    after = picture_of(rich)
    assert holdfast("undo", "--yes").code == 0
    assert not (rich / "new.py").exists()
    assert holdfast("redo", "--yes").code == 0
    assert picture_of(rich) == after


def test_a_session_that_was_killed_has_no_part_in_later_prompts(
    rich: Path, prompts: Prompts, holdfast: Holdfast, home: Path
) -> None:
    prompts.begin("Killed", session="dead")
    (rich / "two.py").write_text("of the killed one\n")
    transcript = home / ".claude/projects/shop/dead.jsonl"
    transcript.parent.mkdir(parents=True)
    transcript.touch()
    written = prompts.now / 1000 + 0.5
    prompts.begin("By shell", session="alive")
    (rich / "one.py").write_text("by shell\n")
    prompts.end(session="alive")
    assert holdfast("undo", "--json").data["mixed"] == ["one.py"], "both were at work"

    os.utime(transcript, (written, written))
    rows = holdfast("undo", "--list", "--json").data["prompts"]
    assert [(one["is_running"], one["how"]) for one in rows] == [
        (False, ""),
        (False, "interrupted"),
    ]
    shown = holdfast("undo", "--yes", "--json").data
    assert [one["path"] for one in shown["files"]] == ["one.py"]
    assert shown["mixed"] == []
    assert (rich / "two.py").read_text() == "of the killed one\n"


def test_a_folder_without_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holdfast: Holdfast
) -> None:
    root = tmp_path / "plain"
    root.mkdir()
    monkeypatch.chdir(root)
    (root / "holdfast.toml").touch()
    (root / "one.txt").write_text("one\n")
    (root / "two.txt").write_text("two\n")
    (root / "two.txt").chmod(0o600)
    (root / "empty").mkdir()
    prompts = Prompts()
    before = picture_of(root)
    prompts.begin("Change")
    (root / "one.txt").write_text("changed\n")
    (root / "two.txt").unlink()
    (root / "empty").rmdir()
    (root / "three.txt").write_text("three\n")
    prompts.end()
    assert not os.path.exists(root / ".git")
    assert holdfast("undo", "--yes").code == 0
    assert picture_of(root) == before


def test_nothing_is_kept_where_it_is_switched_off(
    rich: Path, git: Git, prompts: Prompts, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_UNDO_ON", "false")
    prompt(prompts, "Change", lambda: bad_idea(rich, git))
    assert holdfast("undo").code == 3
    assert git("for-each-ref", "refs/holdfast") == ""
