"""What an issue's name looks like; nothing else ever reaches a URL, a query or a command."""

from __future__ import annotations

import re

from holdfast.kernel.errors import Usage

LONGEST_ISSUE = 160
_NUMBER = "[1-9][0-9]{0,9}"
REPOSITORY = r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/(?!\.{1,2}(?:[#:]|\Z))[A-Za-z0-9._-]{1,100}"
LINEAR_SHAPE = re.compile(f"[A-Z][A-Z0-9]{{0,15}}-{_NUMBER}")
GITHUB_SHAPE = re.compile(f"(?P<repository>{REPOSITORY})?#(?P<number>{_NUMBER})")
REPOSITORY_SHAPE = re.compile(REPOSITORY)


def check_issue(issue: str) -> str:
    """The kind of tracker that has issues of this shape; Usage when none has."""
    if len(issue) <= LONGEST_ISSUE:
        if LINEAR_SHAPE.fullmatch(issue):
            return "linear"
        if GITHUB_SHAPE.fullmatch(issue):
            return "github"
    shown = ascii(issue if len(issue) <= 40 else issue[:40] + "...")
    raise Usage(
        f"{shown} is not the name of an issue.",
        hint="Linear's are like ENG-123, GitHub's like #12 or owner/repository#12.",
        kind="bad_issue",
    )


def repository_and_number(issue: str, repository: str) -> tuple[str, int]:
    """Where a GitHub issue is; `#12` is in the given repository."""
    found = GITHUB_SHAPE.fullmatch(issue)
    if found is None or len(issue) > LONGEST_ISSUE:
        check_issue(issue)
        raise Usage(f"{issue} is no issue of GitHub.", kind="bad_issue")
    home = found["repository"] or repository
    if not home:
        raise Usage(
            f"Which repository is {issue} in?",
            hint="Write owner/repository#12, or set tracker.github_repository.",
            kind="bad_issue",
        )
    if not REPOSITORY_SHAPE.fullmatch(home):
        raise Usage(
            f"{home[:80]!a} is not a repository.",
            hint="tracker.github_repository is like owner/repository.",
            kind="bad_issue",
        )
    return home, int(found["number"])
