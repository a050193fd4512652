"""The failure of git, on the hook path too: nothing heavy is imported here."""

from __future__ import annotations

from holdfast.kernel.errors import HoldfastError


class GitError(HoldfastError):
    """Git could not do it. Kinds: git_missing, not_a_repository, git_timeout, git_failed."""

    kind = "git_failed"


def not_a_repository(root: str) -> GitError:
    """The refusal for a folder that is in no work tree."""
    return GitError(
        f"{root} is in no git work tree.",
        hint="Run `git init` where the project begins.",
        kind="not_a_repository",
    )
