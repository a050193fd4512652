"""A git worktree for each plan: made when it begins, given back when it is done, kept when it fails.

All work of a run comes together on one branch, `holdfast/<run>`: a plan begins where that stands, and
what it made is merged into it. The branch that you have checked out is not touched.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from holdfast.git.run import git
from holdfast.git.run import run as run_git
from holdfast.kernel.digest import id_of
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.kernel.text import quote
from holdfast.kernel.tree_file import TreeFile
from holdfast.kernel.workspace import Workspace
from holdfast.plans.news import Halted
from holdfast.plans.rules.run_model import DONE, ERROR, PlanRun
from holdfast.plans.runs import RunStream

FOLDER = "worktrees"
HEADS = "refs/heads/"
TRAILER = "Holdfast-Run"
# The author of commits in a repository whose settings name none.
DEFAULT_AUTHOR = ("-c", "user.name=holdfast", "-c", "user.email=holdfast@localhost")
SECONDS = 300.0
# Beside a worktree that is about to be removed: its work is with the others'.
RETURNED = ".returned"


class NotGivenBack(Halted):
    """The work of one plan cannot be merged or continued. It is kept, and the other plans may end."""

    def __init__(self, text: str) -> None:
        super().__init__(ERROR, text, exit_code=1)


class Worktrees:
    """The worktrees of one run. Without `--worktrees`, every plan works in the run's own."""

    def __init__(self, stream: RunStream) -> None:
        self._stream = stream
        self._workspace = stream.writer.workspace
        self._run = stream.place.id
        self.branch = f"holdfast/{self._run}"

    def folder_of(self, plan: str) -> str:
        """The folder in which a plan's tasks run. It is made if it does not exist."""
        state = self._stream.state
        if not state["options"]["worktrees"]:
            return state["root"]
        path = self.path_of(plan)
        with self._blame(plan):
            if not _is_there(path):
                self._refuse_gone(state["plans"][plan], path)
                self._make(path, plan)
            top = self._git("rev-parse", "--show-toplevel")
        return os.path.normpath(os.path.join(path, os.path.relpath(state["root"], top)))

    @contextmanager
    def _blame(self, plan: str) -> Iterator[None]:
        """Add the plan and its worktree to an error."""
        try:
            yield
        except (HoldfastError, OSError) as error:
            what = error.message if isinstance(error, HoldfastError) else str(error)
            raise NotGivenBack(f"{plan}: {what} (its worktree: {self.path_of(plan)})") from error

    def _refuse_gone(self, plan: PlanRun, path: str) -> None:
        """Refuse a worktree that is gone after tasks of the plan are done: a new one would lack what was
        not committed."""
        if any(task["status"] == DONE for task in plan["tasks"].values()):
            own = self._branch_of(plan["plan"]["id"])
            raise HoldfastError(
                "its worktree is gone, and what was not committed in it. To go on with what was: "
                f"git worktree add {quote(path)} {quote(own)}"
            )

    def path_of(self, plan: str) -> str:
        return os.path.join(self._workspace.tool_folder, FOLDER, self._run, slug(plan))

    def list_kept(self) -> list[str]:
        """The worktrees that exist."""
        state = self._stream.state
        if not state["options"].get("worktrees"):
            return []
        paths = [self.path_of(plan) for plan in state["plans"]]
        return [path for path in paths if os.path.isdir(path)]

    def _make(self, path: str, plan: str) -> None:
        self._workspace.prepare_tool_folder(FOLDER)
        base = self._base()
        own = self._branch_of(plan)
        self._git("worktree", "prune")
        if self._commit_of(own):
            self._git("worktree", "add", "--quiet", path, own)
        else:
            self._git("worktree", "add", "--quiet", "-b", own, path, base)

    def _branch_of(self, plan: str) -> str:
        return f"{self.branch}-{slug(plan)}"

    def _base(self) -> str:
        """The branch for the run's work. It begins at what is checked out."""
        if not self._commit_of(self.branch):
            commit = self._commit_of("HEAD")
            if not commit:
                raise Usage("There is no commit for a worktree to begin with.")
            self._git("update-ref", f"{HEADS}{self.branch}", commit, "0" * len(commit))
        return self.branch

    def give_back(self, plan: str) -> dict[str, Any]:
        """Commit what a plan left uncommitted, merge its work, and remove its worktree. Each step can be
        repeated after a crash."""
        if not self._stream.state["options"]["worktrees"]:
            return {}
        with self._blame(plan):
            return self._give_back(plan)

    def _give_back(self, plan: str) -> dict[str, Any]:
        path = self.path_of(plan)
        facts: dict[str, Any] = {"branch": self.branch}
        if _is_there(path):
            commit_rest(path, plan, self._run)
        own = self._commit_of(self._branch_of(plan))
        if _is_there(path):
            on = run_git(path, "symbolic-ref", "--quiet", "HEAD").output.decode().strip()
            at = git(path, "rev-parse", "HEAD").decode().strip()
            # A task may have left the plan's branch: where it stands now is its work as well.
            for commit in dict.fromkeys(one for one in (own, at) if one):
                self._merge(plan, commit)
            if on != f"{HEADS}{self._branch_of(plan)}":
                facts["left"] = on.removeprefix(HEADS) or "a detached HEAD"
            self._remove(path)
        elif not os.path.exists(path + RETURNED):
            self._refuse_gone(self._stream.state["plans"][plan], path)
        if own and not os.path.isdir(path):
            self._git("update-ref", "-d", f"{HEADS}{self._branch_of(plan)}", own)
        return {**facts, "commit": self._commit_of(self.branch)}

    def _remove(self, path: str) -> None:
        note = self._note(path)
        note.write(b"", 0o600)
        # Refused by git when something has come in since; then it is kept.
        if run_git(self._workspace.root, "worktree", "remove", path).code != 0:
            note.remove()

    def _note(self, path: str) -> TreeFile:
        """Return the note that a worktree is about to be removed."""
        root = self._workspace.root
        return TreeFile(root, os.path.relpath(path, root) + RETURNED, is_strict=True)

    def forget_return(self, plan: str) -> None:
        """Remove the note about a returned worktree, after the plan is closed in the journal."""
        self._note(self.path_of(plan)).remove_if_any()

    def _merge(self, plan: str, own: str) -> None:
        base = self._commit_of(self._base())
        if run_git(self._workspace.root, "merge-base", "--is-ancestor", own, base).code == 0:
            return
        self._refuse_checked_out()
        if run_git(self._workspace.root, "merge-base", "--is-ancestor", base, own).code == 0:
            self._git("update-ref", f"{HEADS}{self.branch}", own, base)
            return
        words = ("merge-tree", "--write-tree", base, own)
        merged = run_git(self._workspace.root, *words, seconds=SECONDS)
        if merged.code != 0:
            raise HoldfastError("its work and that of the others do not merge; it is kept")
        tree = merged.output.decode().split("\n", 1)[0].strip()
        message = f"plan({plan}): merged\n\n{TRAILER}: {self._run}"
        parents = ("-p", base, "-p", own, "-m", message)
        commit = self._git(*_identity(self._workspace.root), "commit-tree", tree, *parents)
        self._git("update-ref", f"{HEADS}{self.branch}", commit, base)

    def _refuse_checked_out(self) -> None:
        """Refuse a branch that another worktree has checked out: the next commit there would move the branch
        back, without the work of the plans."""
        where = ""
        for line in self._git("worktree", "list", "--porcelain").splitlines():
            name, _, value = line.partition(" ")
            where = value if name == "worktree" else where
            if name == "branch" and value == f"{HEADS}{self.branch}":
                raise HoldfastError(
                    f"{self.branch} is checked out in {where}; check out another branch there"
                )

    def has_file(self, path: str) -> bool:
        """Whether a file is part of the result of the run."""
        state = self._stream.state
        if not state["options"]["worktrees"]:
            return os.path.exists(os.path.join(state["root"], path))
        top = self._git("rev-parse", "--show-toplevel")
        inside = os.path.relpath(os.path.join(state["root"], path), top)
        found = run_git(self._workspace.root, "cat-file", "-e", f"{self.branch}:{inside}")
        return found.code == 0

    def _commit_of(self, name: str) -> str:
        asked = ("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        return run_git(self._workspace.root, *asked).output.decode().strip()

    def _git(self, *words: str) -> str:
        return user_git(self._workspace.root, *words).decode().strip()


def user_git(path: str, *words: str) -> bytes:
    """Run git with the programs that its configuration names, and with time for a large repository."""
    return git(path, *words, seconds=SECONDS, as_the_user=True)


def commit_rest(path: str, plan: str, run: str) -> None:
    """Commit what a plan's tasks left uncommitted in its work tree."""
    if not git(path, "status", "--porcelain", "-z", "--untracked-files=all", seconds=SECONDS):
        return
    user_git(path, "add", "--all")
    message = f"plan({plan}): what was not committed\n\n{TRAILER}: {run}\n"
    user_git(path, *_identity(path), "commit", "--quiet", "--no-verify", "--message", message)


def _identity(path: str) -> tuple[str, ...]:
    known = run_git(path, "var", "GIT_COMMITTER_IDENT").code == 0
    return () if known else DEFAULT_AUTHOR


def refuse_without_git(workspace: Workspace) -> None:
    if not workspace.git_dir:
        raise Usage("--worktrees needs a git repository.", hint="Run `git init`, or leave it out.")


def _is_there(path: str) -> bool:
    """Whether a worktree exists. Without its `.git`, git would work in the repository around it."""
    return os.path.exists(os.path.join(path, ".git"))


def slug(plan: str) -> str:
    """A name for a folder and a branch. Every plan has another."""
    plain = re.sub(r"[^A-Za-z0-9_]", "-", plan)
    if plain == plan.replace("/", "-", 1) and len(plain) <= 40:
        return plain
    return f"{plain[:40].strip('-')}-{id_of(plan)[:6]}"
