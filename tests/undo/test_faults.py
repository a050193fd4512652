"""What may stand in the way of an undo: a kill at its named points, a full disk, links, a clone's filters."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.kernel import crash
from holdfast.kernel.workspace import discover
from holdfast.undo import operations
from holdfast.undo.operations import UndoRequest
from tests import dying
from tests.cli import conftest as command_line
from tests.cli.conftest import Holdfast
from tests.conftest import Git
from tests.mcp.world import Face
from tests.undo import scene
from tests.undo.scene import Prompts, bad_idea, picture_of

holdfast, rich, prompts = command_line.holdfast, scene.rich, scene.prompts
# A point, the time it is reached, and whether the undo is finished then.
POINTS = (
    ("before the files of an undo are prepared", 1, False),
    ("before an undo is recorded", 1, False),
    ("after an undo is recorded", 1, True),
    ("before a file is taken back", 5, True),
    ("before an undo is settled", 1, True),
)


@pytest.mark.parametrize(("point", "number", "is_finished"), POINTS)
def test_an_undo_that_was_killed_is_finished_or_taken_back(
    rich: Path,
    git: Git,
    prompts: Prompts,
    holdfast: Holdfast,
    point: str,
    number: int,
    is_finished: bool,
) -> None:
    before = picture_of(rich)
    prompts.begin("Change")
    bad_idea(rich, git)
    prompts.end()
    after = picture_of(rich)
    dying.die_at(point, "undo", "--yes", number=number)
    assert "cut off" in holdfast("status").out
    said = holdfast("undo", "--list").err
    assert ("It was finished now" if is_finished else "It was taken back") in said
    assert picture_of(rich) == (before if is_finished else after)
    assert "cut off" not in holdfast("status").out
    assert holdfast("redo" if is_finished else "undo", "--yes").code == 0
    assert picture_of(rich) == (after if is_finished else before)


def test_an_agents_look_does_not_finish_an_undo_that_was_killed(
    rich: Path, git: Git, prompts: Prompts, holdfast: Holdfast
) -> None:
    before = picture_of(rich)
    prompts.begin("Change")
    bad_idea(rich, git)
    prompts.end()
    dying.die_at("before a file is taken back", "undo", "--yes", number=3)
    half = picture_of(rich)
    for arguments in ({}, {"back": 1}, {"redo": True}):
        answer = Face(rich).call("undo", arguments)
        assert "cut off" in answer.text
        assert "Ask your user to run: holdfast undo --list" in answer.text
    assert picture_of(rich) == half != before
    assert holdfast("undo", "--list").code == 0
    assert picture_of(rich) == before


def test_a_prompt_finishes_an_undo_that_was_killed(rich: Path, git: Git, prompts: Prompts) -> None:
    before = picture_of(rich)
    prompts.begin("Change")
    bad_idea(rich, git)
    prompts.end()
    dying.die_at("before a file is taken back", "undo", "--yes", number=3)
    prompts.begin("Next")
    assert picture_of(rich) == before


def test_an_edit_in_the_last_instant_stays(
    rich: Path, git: Git, prompts: Prompts, holdfast: Holdfast
) -> None:
    prompts.begin("Change")
    bad_idea(rich, git)
    prompts.end()
    forget = crash.register(
        "after an undo is recorded", lambda: (rich / "one.py").write_text("at this instant\n")
    )
    try:
        done = holdfast("undo", "--yes")
    finally:
        forget()
    assert "one.py" in done.err
    assert (rich / "one.py").read_text() == "at this instant\n"
    assert (rich / "two.py").read_text().startswith("line 0\n")


def test_no_link_that_was_swapped_in_is_followed(
    rich: Path, prompts: Prompts, tmp_path: Path, holdfast: Holdfast
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "four.py").write_text("outside\n")
    prompts.begin("Change")
    (rich / "sub/four.py").write_text("changed\n")
    prompts.end()

    def swap() -> None:
        (rich / "sub").rename(rich / "away")
        (rich / "sub").symlink_to(outside)

    forget = crash.register("after an undo is recorded", swap)
    try:
        holdfast("undo", "--yes")
    finally:
        forget()
    assert (outside / "four.py").read_text() == "outside\n"
    assert sorted(path.name for path in outside.iterdir()) == ["four.py"]


def test_a_filter_that_a_clone_names_is_not_run(
    rich: Path, git: Git, prompts: Prompts, holdfast: Holdfast, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    (rich / ".gitattributes").write_text("*.py filter=evil\n")
    git("config", "filter.evil.clean", f"touch {ran}; cat")
    git("config", "filter.evil.smudge", f"touch {ran}; cat")
    before = picture_of(rich)
    prompts.begin("Change")
    (rich / "notes.txt").unlink()
    (rich / "one.py").write_text("changed\n")
    prompts.end()
    done = holdfast("undo", "--yes", "--json")
    assert not ran.exists()
    assert "one.py" in done.data["not_held"]
    assert (rich / "notes.txt").read_bytes() == before["notes.txt"][1]


def test_large_and_ignored_files_and_repositories_inside_are_said(
    rich: Path,
    git: Git,
    prompts: Prompts,
    holdfast: Holdfast,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOLDFAST_SNAPSHOT_LARGEST_MB", "1")
    os.utime(rich / "debug.log", (0, 0))
    (rich / "large.bin").write_bytes(b"x" * 1_500_000)
    inner = rich / "inner"
    inner.mkdir()
    git("init", "--quiet", at=inner)
    git("commit", "--quiet", "--allow-empty", "--message", "inner", at=inner)
    prompts.begin("Change")
    (rich / "large.bin").write_bytes(b"y" * 1_500_000)
    (rich / "build").mkdir()
    (rich / "build" / "out").write_text("built\n")
    git("commit", "--quiet", "--allow-empty", "--message", "second", at=inner)
    (rich / "one.py").write_text("grown" * 300_000)
    prompts.end()
    done = holdfast("undo", "--yes", "--json").data
    assert done["not_held"] == ["large.bin", "one.py"]
    assert done["ignored"] == ["build/"]
    assert done["submodules"] == ["inner"]
    assert (rich / "large.bin").read_bytes()[:1] == b"y"
    assert (rich / "one.py").read_text().startswith("grown"), "no state holds it"


@pytest.mark.parametrize("is_submodule", [False, True])
def test_a_change_inside_of_another_repository_is_said_to_stay(
    rich: Path, git: Git, prompts: Prompts, holdfast: Holdfast, is_submodule: bool
) -> None:
    """Its commit is the same, and only a file of it changed."""
    inner = rich / "inner"
    inner.mkdir()
    git("init", "--quiet", at=inner)
    (inner / "lib.txt").write_text("before\n")
    git("add", "lib.txt", at=inner)
    git("commit", "--quiet", "--message", "inner", at=inner)
    if is_submodule:
        git("add", "inner")
        git("commit", "--quiet", "--message", "with inner")
    prompts.begin("Change")
    (inner / "lib.txt").write_text("after\n")
    (rich / "one.py").unlink()
    prompts.end()
    done = holdfast("undo", "--yes")
    assert "inner: left alone, a repository inside this one" in done.out
    assert (inner / "lib.txt").read_text() == "after\n"
    assert (rich / "one.py").exists()


def test_ignored_files_are_kept_where_the_person_wants_that(
    rich: Path,
    prompts: Prompts,
    holdfast: Holdfast,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOLDFAST_UNDO_INCLUDE", "*.log build")
    (rich / "build").mkdir()
    (rich / "build" / "out").write_text("built\n")
    (rich / "build" / "out").chmod(0o600)
    before = picture_of(rich)
    prompts.begin("Change")
    (rich / "debug.log").unlink()
    (rich / "build" / "out").write_text("other\n")
    prompts.end()
    assert holdfast("undo", "--yes").code == 0
    assert picture_of(rich) == before


@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_checkout_that_is_sparse(
    rich: Path, git: Git, prompts: Prompts, holdfast: Holdfast, is_sparse: bool
) -> None:
    if is_sparse:
        git("sparse-checkout", "set", "--no-cone", "/*", "!/sub/")
        assert not (rich / "sub" / "four.py").exists()
    before = picture_of(rich)
    prompts.begin("Change")
    (rich / "one.py").unlink()
    (rich / "made").write_text("made\n")
    prompts.end()
    assert holdfast("undo", "--yes").code == 0
    assert picture_of(rich) == before


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=12m", "none", str(folder)]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("no right to mount a small disk")
    yield folder
    os.chdir("/")
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_changes_nothing(
    disk: Path, git: Git, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = disk / "project"
    root.mkdir()
    git("init", "--quiet", at=root)
    monkeypatch.chdir(root)
    for number in range(3):
        (root / f"large-{number}").write_bytes(os.urandom(700_000))
    before, prompts = picture_of(root), Prompts()
    prompts.begin("Change")
    for number in range(3):
        (root / f"large-{number}").write_text("small\n")
    prompts.end()
    after = picture_of(root)
    left = os.statvfs(disk)
    filler = disk / "filler"
    filler.write_bytes(b"\0" * (left.f_bavail * left.f_frsize - 1_500_000))
    refused = holdfast("undo", "--yes")
    assert refused.code != 0, refused.out
    assert picture_of(root) == after
    filler.unlink()
    assert holdfast("undo", "--yes").code == 0
    assert picture_of(root) == before


def test_gc_says_what_it_frees_and_purge_reaches_the_states(
    rich: Path, git: Git, prompts: Prompts, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    holdfast("note", "there is a journal")
    for number in range(4):
        prompts.begin(f"Prompt {number}")
        (rich / "one.py").write_bytes(os.urandom(50_000))
        prompts.end()
    (rich / "secret.txt").write_text("correct-horse-battery-staple\n")
    prompts.begin("Look at the secret")
    (rich / "secret.txt").unlink()
    prompts.end()
    monkeypatch.setenv("HOLDFAST_UNDO_LARGEST_MB", "0")
    would = holdfast("gc", "--dry-run", "--json").data["also"]
    assert len(would) == 1
    assert "states of prompts" in would[0]
    assert holdfast("gc", "--json").data["also"] == would
    assert holdfast("undo", "--list", "--json").data["prompts"] == []
    monkeypatch.delenv("HOLDFAST_UNDO_LARGEST_MB")
    (rich / "secret.txt").write_text("correct-horse-battery-staple\n")
    prompts.begin("Again")
    (rich / "secret.txt").unlink()
    prompts.end()
    refs = git("for-each-ref", "--format=%(refname)", "refs/holdfast/undo").split()
    assert any("correct-horse" in git("grep", "-h", "horse", ref) for ref in refs if _has(git, ref))
    monkeypatch.setattr("sys.stdin", _stdin("correct-horse-battery-staple"))
    assert holdfast("purge", "--matching", "--yes").code == 0
    refs = git("for-each-ref", "--format=%(refname)", "refs/holdfast/undo").split()
    assert not any(_has(git, ref) for ref in refs)


def _has(git: Git, ref: str) -> bool:
    words = ["git", "grep", "-q", "horse", ref]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def _stdin(text: str) -> object:
    import io

    return io.TextIOWrapper(io.BytesIO(text.encode()))


def test_an_undo_of_what_is_gone_says_so(
    rich: Path, git: Git, prompts: Prompts, holdfast: Holdfast
) -> None:
    prompts.begin("Change")
    (rich / "one.py").unlink()
    prompts.end()
    for ref in git("for-each-ref", "--format=%(refname)", "refs/holdfast/undo").split():
        git("update-ref", "-d", ref)
    git("gc", "--quiet", "--prune=now")
    assert holdfast("undo", "--yes").code == 3


def test_a_person_made_up_by_a_program_is_refused(rich: Path, prompts: Prompts) -> None:
    from holdfast.kernel.errors import NotAllowed
    from holdfast.kernel.rules import Person

    prompts.begin("Change")
    (rich / "one.py").unlink()
    prompts.end()
    person = Person(name="me", channel="page", terminal="", at="2026-11-19T00:00:00.000Z")
    with pytest.raises(NotAllowed):
        operations.undo(discover(), UndoRequest(), actor="me", now=prompts.now, person=person)


def test_two_names_that_differ_only_in_case_come_back(
    rich: Path, git: Git, prompts: Prompts, holdfast: Holdfast
) -> None:
    """The user's git is told that they are one; the disk keeps two."""
    (rich / "readme").write_text("small\n")
    if (rich / "README").exists():
        pytest.skip("this disk keeps one file of both names; two of them were NOT tried")
    git("config", "core.ignorecase", "true")
    before = picture_of(rich)
    prompts.begin("Change")
    (rich / "readme").write_text("changed\n")
    (rich / "README").write_text("large\n")
    (rich / "SUB").mkdir()
    (rich / "SUB" / "four.py").write_text("another\n")
    prompts.end()
    after = picture_of(rich)
    assert holdfast("undo", "--yes").code == 0
    assert picture_of(rich) == before
    assert holdfast("redo", "--yes").code == 0
    assert picture_of(rich) == after


def test_a_file_that_a_sparse_checkout_leaves_out_does_not_come_back(
    rich: Path, git: Git, prompts: Prompts, holdfast: Holdfast
) -> None:
    """The agent's commit changes it in the index, and it is in no work tree before and after."""
    git("sparse-checkout", "set", "--no-cone", "/*", "!/sub/")
    git("branch", "other")
    blob = git("hash-object", "-w", "run.sh").strip()
    before = picture_of(rich)
    prompts.begin("Change")
    git("update-index", "--cacheinfo", f"100644,{blob},sub/four.py")
    git("update-index", "--skip-worktree", "sub/four.py")
    git("commit", "--quiet", "--message", "what is left out changes")
    (rich / "one.py").write_text("changed\n")
    prompts.end()
    after = picture_of(rich)
    assert holdfast("undo", "--yes").code == 0
    assert picture_of(rich) == before
    assert holdfast("redo", "--yes").code == 0
    assert picture_of(rich) == after


@pytest.mark.parametrize("is_narrower", [False, True])
def test_a_sparse_checkout_that_the_agent_changes(
    rich: Path, git: Git, prompts: Prompts, holdfast: Holdfast, is_narrower: bool
) -> None:
    if not is_narrower:
        git("sparse-checkout", "set", "--no-cone", "/*", "!/sub/")
    before = picture_of(rich)
    prompts.begin("Change")
    if is_narrower:
        git("sparse-checkout", "set", "--no-cone", "/*", "!/sub/")
    else:
        git("sparse-checkout", "disable")
    (rich / "one.py").write_text("changed\n")
    prompts.end()
    after = picture_of(rich)
    assert (rich / "sub" / "four.py").exists() != is_narrower
    assert holdfast("undo", "--yes").code == 0
    assert picture_of(rich) == before
    assert holdfast("redo", "--yes").code == 0
    assert picture_of(rich) == after
