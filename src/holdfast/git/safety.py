"""What keeps git from starting programs that a repository names.

A repository may come from elsewhere with its `.git/config`, its hooks and repositories inside it. To look
at such a work tree, or to keep a snapshot of it, must run nothing of them. Git has no one switch for that:

| what a repository can name | what holds it |
|---|---|
| `core.fsmonitor`, `core.hooksPath`, `.git/hooks` | `-c core.fsmonitor=false`, `-c core.hooksPath=/dev/null` |
| `filter.NAME.clean`, `.smudge`, `.process` | set to nothing for each NAME of the repository's own config |
| a remote's `ext::` address, `core.sshCommand`, credential helpers | no transport at all |
| `diff.external`, textconv, `gpg.program` | `--no-ext-diff`, `--no-textconv`, `log.showSignature=false` |
| `core.worktree`: another folder as its work tree | nothing is run where it names one |
| anything in a repository inside this one | `--ignore-submodules=dirty`: git reads its HEAD, and enters it not |

A filter of the user's own configuration, such as Git LFS, stays: the user chose that program.
"""

from __future__ import annotations

import os
import re
import subprocess

from holdfast.git.errors import GitError
from holdfast.git.repository import Place, locate

# A file monitor is a program that a repository names: nothing that we do must start it.
ALWAYS = ("-c", "core.quotepath=off", "-c", "core.fsmonitor=false")
LOOKING = (
    *("-c", "core.hooksPath=/dev/null", "-c", "log.showSignature=false"),
    *("-c", "diff.ignoreSubmodules=dirty", "-c", "submodule.recurse=false"),
)
# A list of transports that are allowed. There is none of this name.
NO_TRANSPORT = {"GIT_ALLOW_PROTOCOL": "none"}
LARGEST_CONFIG = 1_000_000
_FILTER = re.compile(rb'^\s*\[\s*filter\s+"((?:[^"\\]|\\.)*)"\s*\]', re.IGNORECASE | re.MULTILINE)
_DOTTED_FILTER = re.compile(rb"^\s*\[\s*filter\.([^\]\s]+)\s*\]", re.IGNORECASE | re.MULTILINE)
_INCLUDE = re.compile(rb"^\s*\[\s*include", re.IGNORECASE | re.MULTILINE)
_SUBMODULE = re.compile(rb'^\s*\[\s*submodule\s+"((?:[^"\\]|\\.)*)"\s*\]', re.MULTILINE)
_WORK_TREE = re.compile(
    rb"^\s*(?:\[[^\]\n]*\]\s*)?worktree\s*=[ \t]*(.*)$", re.IGNORECASE | re.MULTILINE
)
_IN_CONFIG = ("clean", "smudge", "process")


def without_programs(root: str) -> list[str]:
    """The options with which git starts no program that the repository of a folder names."""
    options = [*LOOKING]
    for name in repository_filters(root):
        for key in _IN_CONFIG:
            options += ["-c", f"filter.{name}.{key}="]
        options += ["-c", f"filter.{name}.required=false"]
    return options


def refuse_other_work_tree(root: str) -> None:
    """Refuse a repository whose configuration names another folder as its work tree: git would read
    that folder's files into a snapshot, and write there at a restore. A submodule names its own."""
    try:
        place = locate(root)
    except GitError:
        return
    if place.git_dir != place.common_dir:
        return  # git ignores it in a linked worktree
    for name in ("config", "config.worktree"):
        file = os.path.join(place.git_dir, name)
        named = _WORK_TREE.findall(_read(file))
        if not named or (len(named) == 1 and _leads_to(place, os.fsdecode(named[0].strip()))):
            continue
        value = _asked_work_tree(file)
        if value and not _leads_to(place, value):
            folder = os.path.realpath(os.path.join(place.git_dir, value))
            raise GitError(
                f"{file} names another folder as its work tree: {folder}.",
                hint=f"If that is not meant: git -C {place.top} config --unset core.worktree",
                kind="other_work_tree",
            )


def _leads_to(place: Place, value: str) -> bool:
    return os.path.realpath(os.path.join(place.git_dir, value)) == os.path.realpath(place.top)


def _asked_work_tree(file: str) -> str:
    """The value of `core.worktree`, with git's own rules for quotes and escapes."""
    command = ["git", "config", "--file", file, "--type=path", "--get", "core.worktree"]
    try:
        done = subprocess.run(
            command, cwd="/", capture_output=True, stdin=subprocess.DEVNULL, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return os.fsdecode(done.stdout).rstrip("\n")


def repository_filters(root: str) -> list[str]:
    """The names of the filters that the repository's own configuration defines."""
    try:
        place = locate(root)
    except GitError:
        return []
    contents = [
        _read(os.path.join(place.common_dir, "config")),
        _read(os.path.join(place.git_dir, "config.worktree")),
    ]
    if any(_INCLUDE.search(content) for content in contents):
        return _asked(place)
    found: dict[str, None] = {}
    for content in contents:
        for name in [*_FILTER.findall(content), *_DOTTED_FILTER.findall(content)]:
            found[_unquoted(name)] = None
    return [name for name in found if "\n" not in name and "=" not in name]


def without_submodules(top: str) -> list[str]:
    """The options with which `git commit` enters no submodule, whatever `.gitmodules` says."""
    names = _SUBMODULE.findall(_read(os.path.join(top, ".gitmodules")))
    options = ["-c", "diff.ignoreSubmodules=dirty"]
    for name in dict.fromkeys(_unquoted(name) for name in names):
        if "\n" not in name and "=" not in name:
            options += ["-c", f"submodule.{name}.ignore=dirty"]
    return options


def _asked(place: Place) -> list[str]:
    """The same from git itself, which follows what the configuration includes."""
    command = ["git", "config", "--local", "--includes", "--null", "--name-only"]
    try:
        done = subprocess.run(
            [*command, "--get-regexp", r"^filter\."],
            cwd=place.top,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    names = dict.fromkeys(
        key.partition(".")[2].rpartition(".")[0]
        for key in os.fsdecode(done.stdout).split("\0")
        if key
    )
    return [name for name in names if name and "\n" not in name and "=" not in name]


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(LARGEST_CONFIG)
    except OSError:
        return b""


def _unquoted(name: bytes) -> str:
    return os.fsdecode(re.sub(rb"\\(.)", rb"\1", name))
