"""Each plan in a git worktree of its own: nothing of it is lost, and your own branch is not touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.plans.news import Halted
from tests.conftest import Git
from tests.plans.world import World, auto


def _worktrees(world: World, git: Git) -> list[str]:
    lines = git("worktree", "list", "--porcelain", at=world.root).splitlines()
    return [line.partition(" ")[2] for line in lines if line.startswith("worktree ")]


def test_a_plan_works_in_its_own_worktree_and_its_work_comes_together(
    world: World, git: Git
) -> None:
    world.plan("1/01", auto("echo one > one.txt; pwd > where"))
    world.plan(
        "1/02",
        auto(
            "echo two > two.txt; git add two.txt; git -c user.name=a -c user.email=a@b commit -qm two"
        ),
    )
    world.plan("1/03", auto("cat one.txt two.txt > both.txt"), wave=2)
    world.begin(worktrees=True)

    assert world.run(begin=False)["status"] == "done"

    branch = f"holdfast/{world.id}"
    assert git("show", f"{branch}:both.txt", at=world.root) == "one\ntwo\n"
    assert git("show", f"{branch}:where", at=world.root).strip() != str(world.root)
    assert _worktrees(world, git) == [str(world.root)], "removed on success"
    assert not (world.root / "one.txt").exists(), "the branch that is checked out is not touched"
    assert git("branch", "--list", at=world.root).split() == [branch, "*", "main"]


def test_the_note_of_a_returned_worktree_empties_no_file_behind_a_link(
    world: World, tmp_path: Path
) -> None:
    """A task may write beside its worktree."""
    mine = tmp_path / ".bash_profile"
    mine.write_text("export X=1\n")
    world.plan("1/01", auto(f"echo one > one.txt; ln -s {mine} ../1-01.returned"))
    world.begin(worktrees=True)
    assert world.run(begin=False)["status"] == "done"
    assert mine.read_text() == "export X=1\n"


def test_a_worktree_is_kept_when_its_plan_fails_and_gone_on_with(world: World, git: Git) -> None:
    world.plan("1/01", auto("echo half > work.txt") + auto("test -e ready"))
    world.begin(worktrees=True, tries=1)

    assert world.halted(begin=False).reason == "error"

    _, kept = _worktrees(world, git)
    assert Path(kept, "work.txt").read_text() == "half\n"
    Path(kept, "ready").touch()
    assert world.run(begin=False)["status"] == "done"
    assert git("show", f"holdfast/{world.id}:work.txt", at=world.root) == "half\n"


def test_work_that_does_not_merge_is_kept(world: World, git: Git) -> None:
    (world.root / "shared.txt").write_text("before\n")
    git("add", ".", at=world.root)
    git("commit", "-qm", "shared", at=world.root)
    world.plan("1/01", auto("echo one > shared.txt"))
    world.plan("1/02", auto("echo two > shared.txt"))
    world.begin(worktrees=True)

    halted = world.halted(begin=False)

    assert halted.reason == "error"
    assert "do not merge" in halted.text
    _, kept = _worktrees(world, git)
    assert git("status", "--porcelain", at=kept) == "", "committed"


COMMIT = "git add --all; git -c user.name=a -c user.email=a@b commit -qm work"


@pytest.mark.parametrize("leave", ["git checkout -q --detach", "git checkout -q -b feature-x"])
def test_work_of_a_task_that_left_the_branch_of_its_plan_is_merged(
    world: World, git: Git, leave: str
) -> None:
    before = auto(f"echo before > before.txt; {COMMIT}")
    world.plan("1/01", before + auto(f"{leave}; echo work > work.txt; {COMMIT}; echo on > on.txt"))
    world.begin(worktrees=True)
    assert world.run(begin=False)["status"] == "done"
    for name in ("before", "work", "on"):
        assert git("show", f"holdfast/{world.id}:{name}.txt", at=world.root) == f"{name}\n"
    assert "which its task checked out" in world.told("closed")[0], "said"
    assert _worktrees(world, git) == [str(world.root)]


def test_a_worktree_that_is_gone_halts_the_run_until_somebody_brings_it_back(
    world: World, git: Git
) -> None:
    committed = f"echo work > work.txt; {COMMIT}"
    world.plan("1/01", auto(f"{committed}; echo lost > lost.txt; cd ..; rm -r 1-01"))
    world.begin(worktrees=True)

    for _ in range(2):
        halted = world.halted(begin=False)
        assert halted.reason == "error"
        assert halted.text.startswith("1/01: its worktree is gone")
    assert not world.state()["plans"]["1/01"]["closed"]

    add = halted.text.partition("git worktree add ")[2].split()[:2]
    git("worktree", "prune", at=world.root)
    git("worktree", "add", *add, at=world.root)
    assert world.run(begin=False)["status"] == "done"
    assert git("show", f"holdfast/{world.id}:work.txt", at=world.root) == "work\n"


def test_a_worktree_that_is_gone_between_two_tasks_is_not_begun_anew(world: World) -> None:
    world.plan("1/01", auto("echo one > one.txt; cd ..; rm -r 1-01") + auto(world.note("second")))
    world.begin(worktrees=True)
    assert "its worktree is gone" in world.halted(begin=False).text
    assert world.noted() == []


def test_a_crash_after_a_worktree_was_removed_harms_nothing(
    world: World, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.plan("1/01", auto("echo one > one.txt"))
    world.begin(worktrees=True)
    runner = world.runner()
    with monkeypatch.context() as killed:
        killed.setattr(runner.flight, "summarize", lambda *_: (_ for _ in ()).throw(SystemExit))
        with pytest.raises(SystemExit):
            runner.to_the_end()
    assert _worktrees(world, git) == [str(world.root)]
    assert world.run(begin=False)["status"] == "done"
    assert git("show", f"holdfast/{world.id}:one.txt", at=world.root) == "one\n"


def test_the_branch_of_a_run_is_not_moved_under_somebody_who_has_it_checked_out(
    world: World, git: Git, tmp_path: Path
) -> None:
    theirs = tmp_path / "theirs"
    add = f"git -C {world.root} worktree add -q {theirs} holdfast/$HOLDFAST_RUN"
    world.plan("1/01", auto(f"echo one > one.txt; {add}"))
    world.begin(worktrees=True)
    branch = f"holdfast/{world.id}"
    halted = world.halted(begin=False)
    assert f"{branch} is checked out in {theirs}" in halted.text
    assert git("status", "--porcelain", at=theirs) == "", "as they left it"

    git("checkout", "--quiet", "-b", "own", at=theirs)
    assert world.run(begin=False)["status"] == "done"
    assert git("show", f"{branch}:one.txt", at=world.root) == "one\n"


def test_work_that_does_not_merge_cuts_off_no_neighbour(world: World, git: Git) -> None:
    (world.root / "shared.txt").write_text("before\n")
    git("add", ".", at=world.root)
    git("commit", "-qm", "shared", at=world.root)
    world.plan("1/01", auto("echo one > shared.txt"))
    kept = world.root / "kept"
    world.plan("1/02", auto("echo two > shared.txt"))
    world.plan("1/03", auto(f"while ! test -e {kept}; do sleep 0.02; done; echo three > three.txt"))
    world.begin(worktrees=True)
    runner = world.runner()
    say = runner.news.say

    def heard(event: str, **words: str) -> None:
        say(event, **words)
        if event == "kept":
            kept.touch()

    runner.news.say = heard  # type: ignore[method-assign]
    with pytest.raises(Halted) as halted:
        runner.to_the_end()
    plans = world.state()["plans"]
    assert plans["1/03"]["closed"], "it was let end, and given back"
    (wrong,) = [name for name in ("1/01", "1/02") if not plans[name]["closed"]]
    assert halted.value.text.startswith(f"{wrong}: its work and that of the others do not merge")
    assert str(Path("worktrees", world.id, wrong.replace("/", "-"))) in halted.value.text
    assert all(task["lost"] == 0 for plan in plans.values() for task in plan["tasks"].values())
