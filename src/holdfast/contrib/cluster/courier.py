"""The runner's side of work that goes to other machines by git, and comes back."""

from __future__ import annotations

import os

from holdfast.contrib.cluster.worker import FETCH, PUSH, WorkSource
from holdfast.git.run import git
from holdfast.git.run import run as run_git
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.plans.worktrees import SECONDS, commit_rest, slug, user_git

REFS = "refs/holdfast/runs"


class Courier:
    """The plans' work trees of one run, and the git remote that runner and workers share."""

    def __init__(self, root: str, run: str, remote: str) -> None:
        self._root = root
        self._run = run
        self._name = remote
        self._remote = ""
        # By plan, the commit that the remote has of it.
        self._pushed: dict[str, str] = {}
        # What did not come back is not taken off the remote.
        self._kept: set[str] = set()

    def send(self, folder: str, plan: str, mark: str) -> WorkSource:
        """Push what a plan stands at, with what its tasks left uncommitted."""
        top = git(folder, "rev-parse", "--show-toplevel").decode().strip()
        commit_rest(top, plan, self._run)
        commit = git(top, "rev-parse", "HEAD").decode().strip()
        ref = f"{REFS}/{self._run}/{slug(plan)}/base"
        if self._pushed.get(plan) != commit:
            user_git(top, *PUSH, self.remote(), f"{commit}:{ref}")
            self._pushed[plan] = commit
        return {
            "remote": self.remote(),
            "ref": ref,
            "commit": commit,
            "result": f"{REFS}/{self._run}/{slug(plan)}/{mark}",
            "inside": os.path.relpath(folder, top),
            "plan": plan,
            "run": self._run,
        }

    def bring(self, source: WorkSource, commit: str, folder: str) -> None:
        """Bring back what a task made: the plan's work tree stands there afterwards."""
        if not commit or commit == source["commit"]:
            return
        result = source["result"]
        self._kept.add(result)
        user_git(folder, *FETCH, source["remote"], f"{result}:{result}")
        user_git(folder, "merge", "--quiet", "--ff-only", commit)
        git(folder, "update-ref", "-d", result)
        self._kept.discard(result)

    def clean(self) -> None:
        """Take the run's refs off the remote; they have done their work."""
        asked = ("ls-remote", self.remote(), f"{REFS}/{self._run}/*")
        listed = run_git(self._root, *asked, seconds=SECONDS, as_the_user=True)
        names = [line.partition("\t")[2] for line in listed.output.decode().splitlines()]
        refs = [name for name in names if name and name not in self._kept]
        if refs:
            words = ("push", "--quiet", "--no-verify", self.remote(), "--delete")
            run_git(self._root, *words, *refs, seconds=SECONDS, as_the_user=True)

    def remote(self) -> str:
        """The address that workers fetch from."""
        if not self._remote:
            asked = run_git(self._root, "remote", "get-url", self._name)
            found = asked.output.decode().strip()
            if asked.code or not found:
                raise Usage(
                    f"Workers do not see {self._root}, and there is no git remote {self._name}.",
                    hint="Share the folder with them, or set plan.remote to a remote that they reach.",
                    kind="not_shared",
                )
            is_path = "://" not in found and ":" not in found.partition("/")[0]
            self._remote = os.path.join(self._root, found) if is_path else found
        return self._remote


def refuse_unreachable(courier: Courier | None, workers: list[str], folder: str) -> None:
    """Before the first task: workers that do not see the run's disk need another way."""
    if not workers:
        return
    if courier is None:
        names = ", ".join(workers[:5])
        raise HoldfastError(
            f"{names} {'do' if len(workers) > 1 else 'does'} not see {folder}.",
            hint="Run with --worktrees, so that the work goes and comes by git; or share the folder.",
            kind="not_shared",
        )
    courier.remote()
