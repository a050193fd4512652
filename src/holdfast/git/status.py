"""What differs from HEAD and the index, and a digest by which a later session knows it again."""

from __future__ import annotations

import os
import stat

from holdfast.git.repository import GitError, Place, is_object_name, locate, read_head
from holdfast.git.run import Running, git, run
from holdfast.kernel import clock
from holdfast.kernel.digest import digest
from holdfast.kernel.plain_file import read_plain
from holdfast.kernel.text import split_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypedDict

    class StatusChange(TypedDict):
        """One entry of `git status --porcelain`, paths seen from the asked folder. `index` is the first
        letter: what is staged, `?` when untracked. `worktree` is the second: what is not. `origin` is
        the earlier path of what was renamed or copied, otherwise empty."""

        path: str
        index: str
        worktree: str
        origin: str

    class BranchState(TypedDict):
        """A branch beside the one that it is pushed to, as far as this machine knows. `branch` is empty where HEAD is
        detached, `upstream` where it was never pushed, or its other branch is gone."""

        branch: str
        upstream: str
        ahead: int
        behind: int


# Every untracked file by itself: `folder/` could not be excluded, nor its contents be digested.
OPTIONS = ("-c", "status.showUntrackedFiles=all", "-c", "status.renames=true")
STATUS = (*OPTIONS, "status", "--porcelain", "-z", "--ignore-submodules=dirty")
BRANCH = ("--branch", "--ahead-behind")
# Larger files are known by size and time: reading them would take longer than the checkpoint.
READ_BELOW = 1_000_000
UNTRACKED = "?"
BRANCH_MARK = "## "
BETWEEN = split_words(
    "diff --no-ext-diff --no-textconv --ignore-submodules=dirty --no-renames --name-only -z"
)
SINCE = split_words(
    "log --no-ext-diff --no-textconv --no-renames --format= --name-only -z "
    "--branches --remotes --tags"
)
LITERAL = {"GIT_LITERAL_PATHSPECS": "1"}


def start_status(root: str, *, with_branch: bool = False) -> Running:
    """Let git look at the work tree while the caller does something else; `read_status` takes it."""
    return Running(locate(root).top, (*STATUS, *(BRANCH if with_branch else ())), fed=False)


def read_status(
    root: str, exclude: Iterable[str] = (), started: Running | None = None
) -> list[StatusChange]:
    """All changes of the work tree but the excluded files and folders.

    A submodule counts as changed when its commit is another one. What is dirty in it is not looked at:
    git would start in a repository that may name programs of its own.
    """
    place = locate(root)
    hidden = [place.from_top(path) for path in exclude]
    output = (started or start_status(root)).answer()
    return [
        {**change, "path": place.from_root(change["path"]), "origin": _origin(place, change)}
        for change in parse(output)
        if not is_covered(change["path"], hidden)
    ]


def parse(output: bytes) -> list[StatusChange]:
    """The entries of `git status --porcelain -z`: a rename's origin is a field of its own."""
    fields = iter(os.fsdecode(output).split("\0"))
    changes: list[StatusChange] = []
    for field in fields:
        if len(field) < 4 or field.startswith(BRANCH_MARK):
            continue
        origin = next(fields, "") if "R" in field[:2] or "C" in field[:2] else ""
        changes.append(
            {"path": field[3:], "index": field[0], "worktree": field[1], "origin": origin}
        )
    return changes


def parse_branch(output: bytes) -> BranchState:
    """The first entry of a status that was started `with_branch`."""
    line = os.fsdecode(output.partition(b"\0")[0]).removeprefix(BRANCH_MARK)
    names, _, counts = line.partition(" [")
    branch, _, upstream = names.removeprefix("No commits yet on ").partition("...")
    counted = dict(one.split(" ") for one in counts.rstrip("]").split(", ") if " " in one)
    return {
        "branch": "" if branch == "HEAD (no branch)" else branch,
        "upstream": "" if counts == "gone]" else upstream,
        "ahead": int(counted.get("ahead", 0)),
        "behind": int(counted.get("behind", 0)),
    }


def is_covered(path: str, names: Sequence[str]) -> bool:
    """Whether a path is one of these, or is in a folder that is."""
    return any(
        path == name or path.startswith(f"{name.rstrip('/')}/") or name == "" for name in names
    )


def digest_of(root: str, changes: Sequence[StatusChange]) -> str:
    """The same for the same dirty state: entries, types, contents. Of a clean tree, a constant."""
    parts = []
    for change in sorted(changes, key=lambda change: (change["path"], change["index"])):
        entry = f"{change['index']}{change['worktree']}\0{change['path']}\0{change['origin']}\0"
        parts.append(os.fsencode(entry) + _contents(os.path.join(root, change["path"])) + b"\n")
    return digest(*parts).hex()


def content_of(root: str, name: str) -> str:
    """A digest of what a file holds now, or a word for what it is instead."""
    return digest(_contents(os.path.join(root, name))).hex()[:20]


def is_ignored(root: str, name: str) -> bool:
    """Whether git leaves an untracked file out; False where git cannot say."""
    try:
        return run(root, "check-ignore", "--quiet", "--", name).code == 0
    except GitError:
        return False


def files_between(root: str, before: str, after: str) -> list[str]:
    """The files that differ between two commits, seen from the asked folder. A record says which commits."""
    place = locate(root)
    if not (is_object_name(before) and is_object_name(after)):
        raise GitError("A record names a commit by what is no commit's name.")
    output = git(place.top, *BETWEEN, before, after)
    names = [name for name in os.fsdecode(output).split("\0") if name]
    return [place.from_root(name) for name in names]


def list_tracked(root: str, names: Sequence[str]) -> set[str]:
    """Those of the files that git tracks."""
    listed = git(root, "ls-files", "-z", "--", *names, environment=LITERAL)
    return {os.fsdecode(name) for name in listed.split(b"\0") if name}


def committed_since(root: str, names: Sequence[str], instant: int) -> set[str]:
    """Those of the files that a commit of any branch changed since the instant."""
    place = locate(root)
    since = f"--since={clock.stamp(instant)}"
    listed = git(root, *SINCE, since, "HEAD", "--", *names, environment=LITERAL)
    return {place.from_root(os.fsdecode(name)) for name in listed.split(b"\0") if name}


def _origin(place: Place, change: StatusChange) -> str:
    return place.from_root(change["origin"]) if change["origin"] else ""


def _contents(path: str) -> bytes:
    try:
        facts = os.lstat(path)
        if stat.S_ISLNK(facts.st_mode):
            return b"link " + digest(os.fsencode(os.readlink(path)))
        if stat.S_ISDIR(facts.st_mode):
            return b"folder " + _submodule(path)
        kind = b"program " if facts.st_mode & stat.S_IXUSR else b"file "
        if not stat.S_ISREG(facts.st_mode) or facts.st_size >= READ_BELOW:
            return kind + f"{facts.st_size} {facts.st_mtime_ns}".encode()
        return kind + digest(read_plain(path, READ_BELOW))
    except (FileNotFoundError, NotADirectoryError):
        return b"gone"
    except OSError as error:
        return f"unreadable {error.errno}".encode()


def _submodule(path: str) -> bytes:
    """The commit that a repository inside this one is on, from its files alone."""
    if not os.path.lexists(os.path.join(path, ".git")):
        return b"plain"
    try:
        return str(read_head(path)["commit"]).encode()
    except GitError:
        return b"unknown"
