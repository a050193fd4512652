"""The system calls of a process that change a workspace, and how to strike at one of them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

from tests.kernel.views.scene import clean_environment
from tests.proof.subjects import PAYLOAD

CALLS = (
    *("write", "pwrite64", "writev", "pwritev", "pwritev2", "fsync", "fdatasync"),
    *("sync_file_range", "ftruncate", "truncate", "rename", "renameat", "renameat2"),
    *("link", "linkat", "symlink", "symlinkat", "unlink", "unlinkat", "rmdir", "mkdir"),
    *("mkdirat", "fallocate", "utimensat", "chmod", "fchmod", "fchmodat", "msync"),
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
    done = subprocess.run(
        [strace, "-f", "-y", "-o", str(log), "-e", f"trace={','.join(CALLS)}", *options, *command],
        input=PAYLOAD,
        capture_output=True,
        text=True,
        cwd=root,
        timeout=60,
        env=clean_environment(),
    )
    trace = log.read_text(errors="replace")
    struck = "(INJECTED)" in trace or "killed by SIGKILL" in trace
    return Struck(done.returncode, done.stdout, done.stderr, struck)


def listed(log: Path, root: Path) -> list[Point]:
    """The calls of a trace that touch the workspace, and the one that answers."""
    points: list[Point] = []
    counts: dict[str, int] = {}
    for line in log.read_text(errors="replace").splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        _, call, arguments = match.groups()
        counts[call] = counts.get(call, 0) + 1
        if call == "write" and arguments.startswith("1<"):
            points.append(Point(call, counts[call], "(the answer)"))
        elif str(root) in arguments:
            places = re.findall(re.escape(str(root)) + r"/?([^\">,]*)", arguments)
            points.append(
                Point(
                    call, counts[call], " > ".join(_shortened(place) for place in places if place)
                )
            )
    return points


def _shortened(place: str) -> str:
    """Without the parts that differ from run to run."""
    return re.sub(r"\b[0-9a-f]{16}\b", "VIEW", re.sub(r"\b\d{19}\b", "TIME", place))
