"""Texts for the next session, ours and others, judged at every cut and shown side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from bench.continuity.judge import (
    CARRIED,
    FUTURE,
    Scores,
    common_names,
    files_of,
    needs_at,
)
from bench.continuity.transcripts import (
    FEWEST_CALLS,
    Cut,
    Kind,
    Recording,
    before,
    cuts_of,
)
from holdfast.clients.conversation import TOOL_CALLS, SessionEvent
from holdfast.kernel import config
from holdfast.observe.fold import observe
from holdfast.pack.pack import render

# As the mod counts them (plugins/holdfast/hooks/register.js).
CHARACTERS_PER_TOKEN = 4

# The text at a cut within a budget; None where the candidate has none by its nature.
Candidate = Callable[[Recording, Cut, int], str | None]
# Candidates by client and kind of cut, then by name.
Table = dict[tuple[str, Kind], dict[str, Scores]]


def holdfast_pack(recording: Recording, cut: Cut, budget: int) -> str:
    """What the next session gets from us."""
    return render({"seen": observe(None, recording.events[: cut.place])}, budget)


def tail(recording: Recording, cut: Cut, budget: int) -> str:
    """The end of the conversation as it is."""
    parts: list[str] = []
    room = budget
    for event in reversed(before(recording, cut)):
        if event.kind == "prompt":
            part = f"User: {event.text}"
        elif event.kind == "said":
            part = f"Assistant: {event.text}"
        elif event.kind in TOOL_CALLS or event.kind == "result":
            part = f"{event.kind} {event.path} {event.text[:300]}"
        else:
            continue
        parts.append(part)
        room -= len(part) + 1
        if room <= 0:
            break
    return "\n".join(reversed(parts))[-budget:]


def requests_only(recording: Recording, cut: Cut, budget: int) -> str:
    """What the person asked for, the newest first."""
    prompts = [event.text[:2000] for event in before(recording, cut) if event.kind == "prompt"]
    return "\n---\n".join(reversed(prompts))[:budget]


def git_note(recording: Recording, cut: Cut, budget: int) -> str:
    """What git shows: files changed in the session, and its commits, the newest first."""
    history = before(recording, cut)
    changed = [
        path
        for event in history
        if event.kind == "edit"
        for path in files_of(event, recording.folder)
    ]
    commits = [
        event.text for event in history if event.kind == "run" and "git commit" in event.text
    ]
    lines = [*dict.fromkeys(reversed(changed)), *(text[:300] for text in reversed(commits))]
    return "\n".join(lines)[:budget]


def own_summary(recording: Recording, cut: Cut, _budget: int) -> str | None:
    """What the client's model wrote at a compaction, whole."""
    if cut.kind != "compaction":
        return None
    number = sum(event.kind == "compact" for event in recording.events[: cut.place])
    # Empty where the vendor's server keeps the summary to itself.
    return "".join(recording.summaries[number : number + 1]) or None


def own_summary_cut(recording: Recording, cut: Cut, budget: int) -> str | None:
    """The same, within the budget."""
    summary = own_summary(recording, cut, budget)
    return None if summary is None else summary[:budget]


def instant_compaction(recording: Recording, cut: Cut, budget: int) -> str | None:
    """What stands in the conversation's place after our mod's `instant`: the pack, and the last messages
    word for word, whole ones alone."""
    if not _is_ours_to_compact(recording, cut):
        return None
    room = int(config.tables().settings["claude.compaction_tokens"].default) * CHARACTERS_PER_TOKEN
    kept: list[SessionEvent] = []
    for event in reversed(before(recording, cut)):
        room -= len(event.text) + len(event.path)
        if room < 0:
            break
        kept.append(event)
    while kept and kept[-1].kind == "result":  # a result whose call is gone does not stand alone
        kept.pop()
    last = [f"{event.kind} {event.path} {event.text}" for event in reversed(kept)]
    return "\n".join([holdfast_pack(recording, cut, budget), *last])


def assisted_compaction(recording: Recording, cut: Cut, budget: int) -> str | None:
    """What stands there after `assist`: the client's own summary, and the pack in the context after it. A
    recorded summary was written without our instructions, so this is the least that it says."""
    summary = own_summary(recording, cut, budget)
    if summary is None or not _is_ours_to_compact(recording, cut):
        return None
    return f"{summary}\n{holdfast_pack(recording, cut, budget)}"


def _is_ours_to_compact(recording: Recording, cut: Cut) -> bool:
    return cut.kind == "compaction" and recording.client == "claude"


OURS = "holdfast"
CANDIDATES: dict[str, Candidate] = {
    OURS: holdfast_pack,
    "end of the conversation": tail,
    "requests only": requests_only,
    "git note": git_note,
    "instant compaction": instant_compaction,
    "assisted compaction": assisted_compaction,
    "client's own summary, whole": own_summary,
    "client's own summary, cut": own_summary_cut,
}


def measure(
    recordings: Iterable[Recording],
    budget: int,
    candidates: Mapping[str, Candidate] = CANDIDATES,
    progress: Callable[[str], None] = lambda _: None,
) -> Table:
    """Cut every recording and judge every candidate at every cut."""
    long_enough = [one for one in recordings if len(one.calls) >= FEWEST_CALLS]
    common = common_names(long_enough)
    table: Table = {}
    for number, recording in enumerate(long_enough, start=1):
        progress(f"{number} of {len(long_enough)}: {recording.name}")
        for cut in cuts_of(recording):
            needs = needs_at(recording, cut, common)
            tallies = table.setdefault((recording.client, cut.kind), {})
            for name, candidate in candidates.items():
                text = candidate(recording, cut, budget)
                if text is not None:
                    tallies.setdefault(name, Scores()).add(text, needs)
    return table


COLUMNS = ("FUTURE", "CARRIED", "TOLD", "HEARD", *FUTURE, *CARRIED)


class Comparison(NamedTuple):
    """The figures at one client's cuts of one kind, the best FUTURE first."""

    client: str
    kind: Kind
    cuts: int
    rows: dict[str, dict[str, float | int]]


def comparisons_of(table: Table) -> list[Comparison]:
    """The table for people and programs: plain figures, in a fixed order."""
    comparisons = []
    for (client, kind), tallies in sorted(table.items()):
        figures = {name: tally.figures() for name, tally in tallies.items()}
        ranked = sorted(figures.items(), key=lambda row: (-row[1].get("FUTURE", 0), row[0]))
        cuts = max(int(row["cuts"]) for row in figures.values())
        comparisons.append(Comparison(client, kind, cuts, dict(ranked)))
    return comparisons


def cells_of(comparison: Comparison) -> list[list[str]]:
    """A comparison as rows of text, with its head."""
    head = ["", *COLUMNS, "false", "characters"]
    rows = [
        [
            name,
            *(f"{figures[column]:.2f}" if column in figures else "-" for column in COLUMNS),
            f"{figures['false']} of {figures['checked']}",
            f"{figures['characters']:,}",
        ]
        for name, figures in comparison.rows.items()
    ]
    return [head, *rows]
