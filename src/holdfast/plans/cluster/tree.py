"""A plan's work tree on a worker that does not see the runner's disk: it comes and goes by git.

The runner pushes what the plan stands at; the worker fetches that, works in a tree of its own, and
pushes what the task made under a ref with the start's mark, so that a start that everybody gave up
overwrites nothing.
"""

from __future__ import annotations

import os
import shutil
import threading
from typing import TYPE_CHECKING

from holdfast.git.run import git
from holdfast.git.run import run as run_git
from holdfast.kernel.digest import id_of
from holdfast.kernel.errors import HoldfastError
from holdfast.plans.worktrees import SECONDS, commit_rest

if TYPE_CHECKING:
    from holdfast.plans.cluster.model import WorkSource

TREES = "trees"
_lock = threading.Lock()
_in_use: set[str] = set()


class Tree:
    """The tree of one start. A plan's next task on this worker finds the files that git ignores."""

    def __init__(self, source: WorkSource, own: str) -> None:
        self._source = source
        self._repository = os.path.join(own, f"repository-{id_of(source['remote'])[:12]}")
        name = source["result"].removeprefix("refs/holdfast/runs/").rpartition("/")[0]
        self._path = os.path.join(own, TREES, name.replace("/", "-"))

    def __enter__(self) -> str:
        """Fetch it; the folder to work in."""
        with _lock:
            if self._path in _in_use:  # a start that was given up has not let go of it yet
                self._path += "-" + self._source["result"].rpartition("/")[2]
            _in_use.add(self._path)
            try:
                self._fetch()
            except BaseException:
                _in_use.discard(self._path)
                raise
        return os.path.normpath(os.path.join(self._path, self._source["inside"]))

    def __exit__(self, *_: object) -> None:
        _in_use.discard(self._path)

    def _fetch(self) -> None:
        source = self._source
        if not os.path.isdir(self._repository):
            os.makedirs(self._repository, 0o700)
            git(self._repository, "init", "--quiet", "--bare")
        words = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--force")
        refs = f"{source['ref']}:{source['ref']}"
        git(self._repository, *words, source["remote"], refs, seconds=SECONDS, as_the_user=True)
        if run_git(self._repository, "cat-file", "-e", f"{source['commit']}^{{commit}}").code:
            raise HoldfastError(f"{source['remote']} has no {source['commit'][:12]} any more.")
        if os.path.exists(os.path.join(self._path, ".git")):
            git(self._path, "checkout", "--quiet", "--force", "--detach", source["commit"])
            git(self._path, "clean", "-fdq", seconds=SECONDS, as_the_user=True)
            return
        shutil.rmtree(self._path, ignore_errors=True)
        git(self._repository, "worktree", "prune")
        words = ("worktree", "add", "--quiet", "--force", "--detach")
        git(
            self._repository,
            *words,
            self._path,
            source["commit"],
            seconds=SECONDS,
            as_the_user=True,
        )

    def give_back(self) -> str:
        """Commit what was left uncommitted, and push it; the commit."""
        source = self._source
        commit_rest(self._path, source["plan"], source["run"])
        commit = git(self._path, "rev-parse", "HEAD").decode().strip()
        if commit != source["commit"]:
            words = ("push", "--quiet", "--force", "--no-verify")
            refs = f"HEAD:{source['result']}"
            git(self._path, *words, source["remote"], refs, seconds=SECONDS, as_the_user=True)
        return commit


def forget(own: str, run: str) -> None:
    """Remove the trees of a run."""
    folder = os.path.join(own, TREES)
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        if name.startswith(f"{run}-"):
            shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
