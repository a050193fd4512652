"""Loading the latest state after 100,000 records, against after 100.

How much is read depends on where in the cycle of snapshots a stream stands, so both stand at the
same place of it, and are looked at in several such places.
"""

from __future__ import annotations

import time
from statistics import fmean, median

from bench.harness import Contender, Plan, Row, repository, say, take_turns, timed_row
from bench.subject import ACTOR, STREAM, Latest, bench_writer, body
from holdfast.journal.interface import SNAPSHOT_FLOOR, Append
from holdfast.kernel import clock
from holdfast.kernel.digest import new_id
from holdfast.kernel.state import load
from holdfast.kernel.stream_write import draft
from holdfast.kernel.workspace import Workspace
from holdfast.kernel.writer import Writer

SIZE = 400
# So many records after a snapshot the next is due. Committing as many at once puts the snapshots
# where single commits would have put them.
CYCLE = SNAPSHOT_FLOOR // SIZE + 1
SHORT, STEP, STEPS = 100, 7, 6
LONG = SHORT + -(-(100_000 - SHORT) // CYCLE) * CYCLE


class Stream:
    """A stream that can be made longer, and whose state can be loaded."""

    def __init__(self, parent: str, name: str, length: int) -> None:
        self.subject = Latest()
        self.workspace: Workspace
        self.writer: Writer
        self.workspace, self.writer = bench_writer(repository(parent, name), self.subject)
        self.length = 0
        self.grow(length)

    def grow(self, more: int) -> None:
        wanted = self.length + more
        while self.length < wanted:
            # The first batch ends with a cycle, and the last one where it must.
            size = min(CYCLE - self.length % CYCLE, wanted - self.length)
            bodies = [body(self.length + number, SIZE) for number in range(size)]
            drafts = [
                draft(self.writer.redactor, new_id(), [("stepped", told)], ACTOR, clock.now())[0]
                for told in bodies
            ]
            state = {"step": bodies[-1]["step"]}
            append = Append(STREAM, drafts, expected=self.length, state=state)
            self.workspace.journal.commit([append])
            self.length += size

    def time(self) -> float:
        journal = self.workspace.journal
        start = time.perf_counter()
        state, head = load(journal, self.subject, STREAM)
        taken = time.perf_counter() - start
        if head is None or head["version"] != self.length:
            raise RuntimeError(f"{head} after {self.length} records")
        if state["step"] != body(self.length - 1, SIZE)["step"]:
            raise RuntimeError(f"{state} after {self.length} records")
        return taken


def measure(plan: Plan) -> list[Row]:
    say(f"latest_state: writing {LONG:,} records")
    long, short = Stream(plan.folder, "long", LONG), Stream(plan.folder, "short", SHORT)
    ours, base = f"after {LONG:,}", f"after {SHORT:,}"
    samples: dict[str, list[float]] = {ours: [], base: []}
    middles: dict[str, list[float]] = {ours: [], base: []}
    for position in range(STEPS):
        if position:
            long.grow(STEP)
            short.grow(STEP)
        contenders: dict[str, Contender] = {ours: long.time, base: short.time}
        name = f"latest_state, place {position + 1} of {STEPS}"
        for contender, taken in take_turns(name, contenders, plan.rounds(500, 100)).items():
            samples[contender] += taken
            middles[contender].append(median(taken))
    long.workspace.close()
    short.workspace.close()
    row = timed_row("latest state after 100,000 records", samples, ours=ours, base=base, bar=1.2)
    # The mean over the places, of the median in each.
    row.ours, row.base = fmean(middles[ours]) * 1000, fmean(middles[base]) * 1000
    ratios = [one / other for one, other in zip(middles[ours], middles[base], strict=True)]
    row.spread = (min(ratios), max(ratios))
    return [row]
