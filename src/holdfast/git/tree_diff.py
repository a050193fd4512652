"""Two trees side by side."""

from __future__ import annotations

import os
from typing import NamedTuple, TypedDict

from holdfast.git.run import git

RAW = ("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames")


class Difference(TypedDict):
    """One path that differs: A added, M modified, D deleted, T of another type."""

    status: str
    path: str


class TreeEntry(NamedTuple):
    """One path that differs, with what the second tree has there."""

    status: str
    path: str
    old_mode: str
    mode: str
    object: str


def entries(top: str, old: str, new: str) -> list[TreeEntry]:
    """From one tree to another, in full."""
    return _parse(git(top, *RAW, old, new))


def differences(top: str, old: str, new: str) -> list[Difference]:
    """From one tree to another."""
    return [{"status": entry.status, "path": entry.path} for entry in entries(top, old, new)]


def against_parent(top: str, commit: str) -> list[Difference]:
    """What a commit changed; all of it when it has no parent."""
    output = git(top, *RAW, "--root", "--no-commit-id", commit)
    return [{"status": entry.status, "path": entry.path} for entry in _parse(output)]


def count_against_parents(top: str, commits: list[str]) -> dict[str, int]:
    """How many paths each commit changed, asked of one git process."""
    if not commits:
        return {}
    lines = "".join(f"{commit}\n" for commit in commits)
    output = git(top, *RAW, "--root", "--stdin", input=lines.encode())
    counts, current = dict.fromkeys(commits, 0), ""
    fields = iter(os.fsdecode(output).split("\0"))
    for field in fields:
        if field.startswith(":"):
            counts[current] += 1
            next(fields)  # its path
        elif field:
            current = field
    return counts


def names(top: str, tree: str) -> list[str]:
    """Every path of a tree."""
    output = git(top, "ls-tree", "-r", "-z", "--name-only", "--full-tree", tree)
    return [name for name in os.fsdecode(output).split("\0") if name]


def _parse(output: bytes) -> list[TreeEntry]:
    fields = os.fsdecode(output).split("\0")
    found = []
    for facts, path in zip(fields[::2], fields[1::2], strict=False):
        old_mode, mode, _, name, status = facts.removeprefix(":").split(" ")
        found.append(TreeEntry(status[0], path, old_mode, mode, name))
    return found
