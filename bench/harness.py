"""What the measurements share: interleaved rounds, processes, statistics, one shape of result.

Only ratios within one run mean anything: this kind of machine drifts by 40 % between runs. So all
contenders of a measurement take turns inside each round, in an order that changes.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

from holdfast.kernel.filesystem import kind_of

Contender = Callable[[], float]
MEMORY = ("tmpfs", "ramfs", "devtmpfs")
WARM_UP = 3
REMOVALS = 50
BLOCKS = 4


@dataclass
class Row:
    """One line of the table. Peers have a ratio to the same base, or the reason why they have none."""

    what: str
    ours: float
    base: float
    base_name: str
    unit: str
    bar: float
    spread: tuple[float, float] | None = None
    peers: dict[str, float | str] = field(default_factory=dict)
    details: dict[str, dict[str, float]] = field(default_factory=dict)
    remark: str = ""

    @property
    def ratio(self) -> float:
        return self.ours / self.base

    @property
    def met(self) -> bool:
        return self.ratio <= self.bar


@dataclass
class Plan:
    """How long to measure, and where."""

    quick: bool
    folder: str

    def rounds(self, full: int, quick: int) -> int:
        return quick if self.quick else full


def take_turns(
    name: str, contenders: dict[str, Contender], rounds: int, *, heavy: Sequence[str] = ()
) -> dict[str, list[float]]:
    """Seconds of each contender in each round.

    Heavy ones leave cold caches behind, which doubled the time of whoever came next: they have a
    turn in every tenth round only, and the others one that does not count after it.
    """
    order = [contender for contender in contenders if contender not in heavy]
    chance = random.Random(name)
    for _ in range(WARM_UP):
        for turn in contenders.values():
            turn()
    samples: dict[str, list[float]] = {contender: [] for contender in contenders}
    for number in range(rounds):
        if heavy and number % 10 == 0:
            for contender in heavy:
                samples[contender].append(contenders[contender]())
            for contender in order:
                contenders[contender]()
        chance.shuffle(order)
        for contender in order:
            samples[contender].append(contenders[contender]())
        if number % max(1, rounds // 5) == 0:
            say(f"{name}: round {number + 1} of {rounds}")
    return samples


def timed_row(
    what: str,
    samples: dict[str, list[float]],
    *,
    ours: str,
    base: str,
    bar: float,
) -> Row:
    """Medians against each other; whoever else took part is a peer."""
    floor = median(samples[base])
    size = max(1, len(samples[base]) // BLOCKS)
    starts = range(0, size * BLOCKS, size) if len(samples[base]) >= BLOCKS else range(1)
    ratios = [
        median(samples[ours][start : start + size]) / median(samples[base][start : start + size])
        for start in starts
    ]
    return Row(
        what,
        ours=median(samples[ours]) * 1000,
        base=floor * 1000,
        base_name=base,
        unit="ms",
        bar=bar,
        spread=(min(ratios), max(ratios)),
        peers={
            name: median(taken) / floor
            for name, taken in samples.items()
            if name not in (ours, base)
        },
        details={
            name: {
                "p50_ms": median(taken) * 1000,
                "p99_ms": percentile(taken, 0.99) * 1000,
                "count": len(taken),
            }
            for name, taken in samples.items()
        },
    )


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


# Processes


def environment() -> dict[str, str]:
    """A plain one: no settings of Python's or ours, and no `.pth` that slows the floor down."""
    kept = {
        name: os.environ[name] for name in ("PATH", "HOME", "USER", "LANG") if name in os.environ
    }
    return {**kept, "SETUPTOOLS_USE_DISTUTILS": "stdlib"}


class Process:
    """A command as a contender: the time from its start to its end. What it said is kept."""

    def __init__(
        self, folder: str, command: list[str], payload: str = "", *, home: str = ""
    ) -> None:
        self.command = command
        self.folder = folder
        self.answer = b""
        self._payload = payload.encode()
        self._home = {"HOME": home} if home else {}

    def __call__(self) -> float:
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said:
            given.write(self._payload)
            given.seek(0)
            surroundings = {**environment(), **self._home}
            start = time.perf_counter()
            done = subprocess.run(
                self.command, cwd=self.folder, env=surroundings, stdin=given, stdout=said
            )
            taken = time.perf_counter() - start
            said.seek(0)
            self.answer = said.read()
        if done.returncode:
            raise RuntimeError(f"{' '.join(self.command)} ended with {done.returncode}")
        return taken


def python(*arguments: str) -> list[str]:
    return [sys.executable, *arguments]


# Places


def repository(parent: str, name: str) -> str:
    """An empty git repository."""
    folder = os.path.join(parent, name)
    subprocess.run(["git", "init", "--quiet", folder], check=True)
    return folder


@contextlib.contextmanager
def workplace() -> Iterator[str]:
    """A temporary folder on a disk: in memory, a sync would cost nothing."""
    parent = tempfile.gettempdir()
    if kind_of(parent) in MEMORY:
        parent = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if kind_of(parent) in MEMORY:
        raise RuntimeError(f"{parent} is in memory; set TMPDIR to a folder on a disk")
    folder = tempfile.mkdtemp(prefix="holdfast-bench-", dir=parent)
    try:
        yield folder
    finally:
        _remove(folder)


def _remove(folder: str) -> None:
    """Remove a folder in which the processes that hooks leave behind may still write for a moment."""
    for _ in range(REMOVALS):
        try:
            shutil.rmtree(folder)
            return
        except OSError:
            time.sleep(0.1)
    shutil.rmtree(folder)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
