"""The system calls of a process that change a workspace, and how to strike at one of them."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from holdfast.kernel.text import split_words
from tests.kernel.views.scene import clean_environment
from tests.proof.subjects import PAYLOAD

CALLS = split_words(
    "write pwrite64 writev pwritev pwritev2 fsync fdatasync sync_file_range "
    "ftruncate truncate rename renameat renameat2 link linkat symlink symlinkat "
    "unlink unlinkat rmdir mkdir mkdirat fallocate utimensat chmod fchmod "
    "fchmodat msync"
)
# `1234  pwrite64(5</path>, "...", 1, 4095) = 1`
_LINE = re.compile(r"^(\d+) +(\w+)\((.*)$")


class Point(NamedTuple):
    """The n-th call of its name, and what it is about."""

    call: str
    number: int
    file: str

    @property
    def is_answer(self) -> bool:
        """Not on the workspace: the process says what it did."""
        return self.file == "(the answer)"


class Struck(NamedTuple):
    """How a process ended that was struck, and what it had said by then."""

    code: int
    output: str
    errors: str
    was_struck: bool


def traced(strace: str, options: list[str], command: list[str], root: Path, log: Path) -> Struck:
    """Run a command under strace. With `options` for a strike, its own calls alone are counted.

    strace counts the calls of each process by itself: with `-f`, a strike at the ninth write of the
    command would also hit the ninth write of each git that it starts, and mostly that one first.
    """
    follow = [] if options else ["-f"]
    trace = f"trace={','.join(CALLS)}"
    done = subprocess.run(
        [strace, *follow, "-y", "-o", str(log), "-e", trace, *options, *command],
        input=PAYLOAD,
        capture_output=True,
        text=True,
        cwd=root,
        timeout=60,
        env=clean_environment(),
    )
    calls = log.read_text(errors="replace")
    struck = "(INJECTED)" in calls or "killed by SIGKILL" in calls
    return Struck(done.returncode, done.stdout, done.stderr, struck)


def listed(log: Path, root: Path) -> list[Point]:
    """The calls of a command that touch the workspace, and the one that answers."""
    first, *_ = _by_process(log, root).values()
    return first


def listed_of_children(log: Path) -> list[Point]:
    """All such calls of the processes that a command starts, each number of a call once. git names
    its files from its own folder, so it is not asked whether a call touches the workspace."""
    lines = [
        match.groups()
        for line in log.read_text(errors="replace").splitlines()
        if (match := _LINE.match(line))
    ]
    counts: Counter[tuple[str, str]] = Counter()
    found: dict[tuple[str, int], Point] = {}
    for process, call, arguments in lines:
        if process != lines[0][0]:
            counts[process, call] += 1
            number = counts[process, call]
            found.setdefault((call, number), Point(call, number, arguments[:80]))
    return sorted(found.values())


def _by_process(log: Path, root: Path) -> dict[str, list[Point]]:
    points: dict[str, list[Point]] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for line in log.read_text(errors="replace").splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        process, call, arguments = match.groups()
        # A name that is seen from the descriptor of its folder.
        if call.endswith(("at", "at2")):
            arguments = re.sub(r'\d+<([^>]*)>, "([^/"][^"]*)"', r'"\1/\2"', arguments)
        counts[process, call] += 1
        number = counts[process, call]
        own = points.setdefault(process, [])
        if call == "write" and arguments.startswith("1<"):
            own.append(Point(call, number, "(the answer)"))
        elif str(root) in arguments:
            places = re.findall(re.escape(str(root)) + r"/?([^\">,]*)", arguments)
            file = " > ".join(_shortened(place) for place in places if place)
            own.append(Point(call, number, file))
    return points


def _shortened(place: str) -> str:
    """Without the parts that differ from run to run."""
    return re.sub(r"\b[0-9a-f]{16}\b", "VIEW", re.sub(r"\b\d{19}\b", "TIME", place))
