"""Holdfast's lines in `.git/info/exclude`: the one place that reads and writes them.

`init` hides the settings that it made, which name paths of this machine. The library hides the files that a
program's calls make: they must not reach the next `git add -A`. Each line stands below a comment that says which
of the two wants it, so that no other file has to remember it, and lines that a person adds between them stay.

All of it stands at the beginning of the file. The bytes behind it are a person's and come back as they were, with
or without an end of line, and what a person says there overrides our lines, as git reads from top to bottom.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Literal

from holdfast.kernel.errors import HoldfastError, from_os_error
from holdfast.kernel.lock import wait_for_lock
from holdfast.kernel.plain_file import read_plain, write_synced
from holdfast.kernel.workspace import Workspace

Owner = Literal["init", "library"]

HEADING = (
    "# Holdfast's lines. Remove one, and git sees the file again. `holdfast uninstall` removes all"
)
# What the end of the heading says about the file: whether it was there before.
WAS_THERE, WAS_MADE = ".\n", ", and this file.\n"
BYTE_ORDER_MARK = "\ufeff"
PATIENCE_SECONDS = 2.0

_HEADING = re.compile("^" + re.escape(HEADING) + r"(\.|, and this file\.)\r?\n", re.MULTILINE)
_OURS = re.compile(r"^# For holdfast (init|library): (/.*)\n(?:\2(?:\n|\Z))?", re.MULTILINE)
# What an earlier version wrote at the end of the file: a block of `init`, and lines of the library.
_OLD_BLOCK = re.compile(
    r"^# Settings that `holdfast init` made: .*\n(?:/.*\n)*# End of holdfast's lines; .*(?:\n|\Z)",
    re.MULTILINE,
)
_OLD_HEADING = re.compile(r"^# Made by a program through holdfast\..*(?:\n|\Z)", re.MULTILINE)
_OLD_LINES = re.compile(
    r"^/(?:.*/)?(?:agent_checkpoints|agent_comms|conductor|\.autopilot|\.ccc-progress\.md)(?:\n|\Z)",
    re.MULTILINE,
)


def exclude_file(workspace: Workspace) -> str:
    return os.path.join(workspace.git_dir, "info", "exclude")


def hide_settings(workspace: Workspace, paths: Iterable[str]) -> None:
    """Hide these files of `init`, named from the top of a work tree, and no others of `init`."""
    wanted = {_pattern(path) for path in paths}
    if workspace.git_dir and (wanted or os.path.lexists(exclude_file(workspace))):
        with _edited(workspace) as lines:
            lines["init"] = wanted


def has_settings_hidden(workspace: Workspace, paths: Iterable[str]) -> bool:
    """Whether `hide_settings` would change nothing."""
    try:
        lines, _, _ = _parse(_read(exclude_file(workspace)))
    except OSError:
        return False
    return lines["init"] == {_pattern(path) for path in paths}


def hide_new(workspace: Workspace, paths: Iterable[str]) -> None:
    """Hide those of these files and folders that do not exist yet, for the library. What exists is the
    project's own. Where the lines cannot be written, as in a sandbox, git sees the files."""
    new = {
        _pattern(path) for path in paths if not os.path.lexists(os.path.join(workspace.root, path))
    }
    if not new or not workspace.git_dir:
        return
    try:
        with _edited(workspace) as lines:
            lines["library"] |= new
    except HoldfastError:
        return


def show_all(workspace: Workspace) -> list[str]:
    """Take out every line of ours; what the library had hidden."""
    if not workspace.git_dir or not os.path.lexists(exclude_file(workspace)):
        return []
    with _edited(workspace) as lines:
        shown = sorted(re.sub(r"\\(.)", r"\1", line[1:]) for line in lines["library"])
        lines["init"], lines["library"] = set(), set()
    return shown


def _pattern(path: str) -> str:
    """The line that hides this one path and nothing else."""
    return "/" + re.sub(r"([\\*?\[]| +$)", r"\\\1", path.replace(os.sep, "/"))


@contextmanager
def _edited(workspace: Workspace) -> Iterator[dict[Owner, set[str]]]:
    """Our lines, to be changed; they are written when the block ends. HoldfastError where that cannot
    be done."""
    file = exclude_file(workspace)
    folder = os.path.dirname(file)
    try:
        os.makedirs(folder, exist_ok=True)
        # An archive can bring a link or a pipe of either name: neither is followed or waited for.
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(folder, flags)
    except OSError as error:
        raise from_os_error(error, f"writing {file}") from error
    try:
        # The lock is on the folder, because the file is replaced.
        wait_for_lock(descriptor, PATIENCE_SECONDS)
        before = _read(file)
        lines, rest, is_made = _parse(before)
        yield lines
        after = _compose(lines, rest, is_made)
        if after is None and before is not None:
            os.unlink(file)
        elif after is not None and after != before:
            write_synced(file, after.encode(errors="surrogateescape"), _mode_of(file))
    except OSError as error:
        raise from_os_error(error, f"writing {file}") from error
    finally:
        os.close(descriptor)


def _parse(text: str | None) -> tuple[dict[Owner, set[str]], str, bool]:
    """Our lines by who wants them, everything else, and whether Holdfast made the file."""
    lines: dict[Owner, set[str]] = {"init": set(), "library": set()}
    if text is None:
        return lines, "", True
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    text = text.removeprefix(mark)
    heading = _HEADING.search(text)
    is_made = heading is not None and heading[1] != "."
    for ours in _OURS.finditer(text):
        if ours[0].count("\n") > 1 or not ours[0].endswith(
            "\n"
        ):  # with its line: it was not removed
            lines["init" if ours[1] == "init" else "library"].add(ours[2].rstrip("\r"))
    rest = _OURS.sub("", _HEADING.sub("", text))
    if old := _OLD_BLOCK.search(rest):
        lines["init"].update(line for line in old[0].splitlines() if line.startswith("/"))
        rest = _OLD_BLOCK.sub("", rest)
        is_made = is_made or not rest
    if _OLD_HEADING.search(rest):
        lines["library"].update(line.strip() for line in _OLD_LINES.findall(rest))
        rest = _OLD_LINES.sub("", _OLD_HEADING.sub("", rest))
    return lines, mark + rest, is_made


def _compose(lines: dict[Owner, set[str]], rest: str, is_made: bool) -> str | None:
    """The text of the file; None: it is not there."""
    if not any(lines.values()):
        return None if is_made and not rest else rest
    mark = BYTE_ORDER_MARK if rest.startswith(BYTE_ORDER_MARK) else ""
    ours = [
        f"# For holdfast {owner}: {line}\n{line}\n"
        for owner in ("init", "library")
        for line in sorted(lines[owner])
    ]
    heading = HEADING + (WAS_MADE if is_made else WAS_THERE)
    return mark + heading + "".join(ours) + rest.removeprefix(mark)


def _read(file: str) -> str | None:
    try:
        return read_plain(file, follow=False).decode(errors="surrogateescape")
    except FileNotFoundError:
        return None


def _mode_of(file: str) -> int:
    try:
        return stat.S_IMODE(os.stat(file).st_mode)
    except FileNotFoundError:
        return 0o644
