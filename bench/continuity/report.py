"""The pages docs/continuity.md and docs/figures/continuity.md, from the figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.continuity.comparison import COLUMNS, OURS

INTRODUCTION = """\
# Continuity

Does the next session get what it needs? This page measures it. `make continuity` writes it again;
`make continuity CONTINUITY_DATA=FOLDER` also judges transcripts of your own, on your machine.

## Method

A recorded session is cut in two: where its client compacted the conversation, and at five places in
the middle of turns, as a crash or a full context would do it. A text is made from the part before
the cut. The part after the cut shows what the text should have said.

- **FUTURE**: the files, the code names and the commands that the next 25 tool calls used, as far as
  they had occurred before the cut. The figure is the share that the text names, averaged over the
  three kinds.
- **CARRIED**: the request under way, the sentences in which the person ruled something in or out,
  the answers that the person gave, the headings of the plan, the open tasks. The figure is the share
  that the text holds, averaged over those kinds that occurred.
- **TOLD**: the pairs of neighbouring words, of what person and agent said during the next 60 calls, that had been
  said before the cut. The figure is the share that the text says, too.
- **HEARD**: what the person typed while the agent worked, and what they said when they refused a call; the newest
  six. The figure is the share that the text holds.
- **false**: tasks shown open that were done, commands shown failing that had passed since, files
  shown that had been deleted. The figure is the number in the texts, of the facts that could have
  been stated falsely.

No model and no labels are used. The judge finds rulings, tasks, failures and names by its own rules,
not by those of the code that it judges.

Beside Holdfast's pack stand four texts that cost nothing: the end of the conversation, the person's
requests, a note from git (files changed, commits), and the client's own summary where the client
wrote one, whole and cut to the same length.

Where Claude Code compacted, [all figures](figures/continuity.md) has two more rows: what would be in the
conversation's place with our mod.
**instant compaction** is the pack and the last messages word for word, about 8,000 tokens of them.
**assisted compaction** is the client's own summary and the pack after it. The recorded summaries were
written without our instructions, so that row is a lower bound.
"""

SESSIONS = """\
## Figures

The **recorded** sessions were recorded with the real clients, offline. A deterministic stand-in answered in
place of the model: a seeded program that searches, reads, edits, fails a test, corrects the mistake
and commits, on a small code base made for it (`bench/continuity/project`). The clients' own
summaries in them were written by the stand-in. They are correct and follow the client's form, but
they say nothing about the quality of a real model's summary. The **real** sessions are those of
people with real models; they are not part of this repository.
"""

RECALL = """\
## Finding a past session

`make continuity` also asks `holdfast find` about the recorded sessions, whose work is known: eleven jobs, each done by
several of them. A question is the subject of a job's commit, which is taken out of the transcripts first, or the same in a
person's own words, written beforehand. **First** is the share of questions whose first hit did the job, **among** the share
of the answers among so many hits. Beside it stands the naive search: pieces of 1,500 characters with BM25.
"""

RECALL_LIMITS = """\
There is no figure for a question without an answer: `find` shows what fits best and does not abstain. Eleven jobs on one
small code base are few, and easy to tell apart: [how well it finds](reference/find.md#how-well-it-finds) has real sessions.
"""

LIMITS = """\
## What this does not measure

- Whether an agent works better with the text. A fact that stands there may still be overlooked.
- Reasoning: why a way was chosen, and which ways failed. TOLD counts words that come again, not reasons.
- The recorded sessions are regular, and their code base is small: 6,000 characters hold much of
  what such a session can name. Their figures are higher than those of real sessions. They are there
  to find errors and to compare versions; 2,500 characters tell more than 6,000.
- A false claim counts only where a text makes it plainly: by a mark, a word or a heading. A
  misleading sentence is not noticed.
- Names are found by their form: seven letters or more, with an inner capital, an underscore or a
  digit. Other names do not count.
"""


# The texts of the one table; all of them are on the page of figures.
OURS_FIND = "holdfast find"
SHOWN = (OURS, "end of the conversation", "client's own summary, whole")
KINDS = {"recorded": "recorded", "others": "real"}


def write_pages(figures: dict[str, Any], page: Path, all_figures: Path) -> None:
    page.write_text("\n".join(_page(figures)), encoding="utf-8")
    all_figures.write_text("\n".join(_all_figures(figures)), encoding="utf-8")


def _page(figures: dict[str, Any]) -> Iterator[str]:
    yield INTRODUCTION
    yield SESSIONS
    dates = [
        f"{KINDS[kind]} sessions on {one['date']}" for kind, one in figures.items() if kind in KINDS
    ]
    yield f"Measured: {', '.join(sorted(dates))}.\n"
    yield "| sessions | text | FUTURE | CARRIED | TOLD | false | FUTURE, 2,500 characters | CARRIED, 2,500 characters |"
    yield "|---|---|---|---|---|---|---|---|"
    for key, kind in KINDS.items():
        if key in figures:
            yield from _rows(kind, figures[key]["budgets"])
    yield ""
    if "recall" in figures:
        yield from _recall(figures["recall"])
    yield LIMITS


def _recall(found: dict[str, Any]) -> Iterator[str]:
    yield RECALL
    yield f"| {found['questions']} questions, {found['sessions']} sessions | first: subjects | among | first: own words | among |"
    yield "|---|---|---|---|---|"
    for name, row in found["rows"].items():
        cells = [
            f"{row[kind][one]:.2f}"
            for kind in ("subject", "own words")
            for one in ("first", "among")
        ]
        yield f"| {f'**{name}**' if name == OURS_FIND else name} | {' | '.join(cells)} |"
    told = found["reminders"]
    yield ""
    yield (
        f"Measured on {found['date']}, on {found['bytes'] / 1e6:.1f} MB: the first answer, which reads everything, took "
        f"{found['seconds_first']:.1f} s, a later one {1000 * found['seconds_a_query']:.0f} ms in a process that runs. The "
        f"index takes {100 * found['index_share']:.1f} % of the transcripts' bytes, what is kept of them for the time "
        f"after a clean-up {100 * found['kept_share']:.1f} %. Of {told['prompts']} prompts, {told['told']} named a file that "
        f"an earlier session had edited and brought a reminder; in {told['right']} of these the session went on to touch "
        f"the file. Of {told['unrelated']} prompts about something else, {told['unrelated_told']} brought one.\n"
    )
    yield RECALL_LIMITS


def _rows(kind: str, budgets: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    for wide, narrow in zip(budgets["6000"], budgets["2500"], strict=True):
        where = f"{kind}: {wide['client']}, {wide['kind']}, {wide['cuts']} cuts"
        for name in SHOWN:
            if name in wide["rows"]:
                row, short = wide["rows"][name], narrow["rows"][name]
                title = f"**{name}**" if name == OURS else name
                yield (
                    f"| {where} | {title} | {row['FUTURE']:.2f} | {row['CARRIED']:.2f} | {_cell(row, 'TOLD')} "
                    f"| {row['false']} of {row['checked']} | {short['FUTURE']:.2f} | {short['CARRIED']:.2f} |"
                )
                where = ""


def _cell(row: dict[str, Any], column: str) -> str:
    return f"{row[column]:.2f}" if column in row else "-"


def _all_figures(figures: dict[str, Any]) -> Iterator[str]:
    yield "# All figures of continuity\n"
    yield "[Continuity](../continuity.md) has the method. `make continuity` writes this page.\n"
    yield "## Recorded sessions\n"
    yield from _sessions(figures["recorded"]["sessions"])
    yield from _results(figures["recorded"]["budgets"])
    if "others" in figures:
        others = figures["others"]
        counted = ", ".join(f"{number} of {name}" for name, number in others["sessions"].items())
        yield f"## Real sessions: {counted}\n"
        yield from _results(others["budgets"])


def _sessions(sessions: list[dict[str, Any]]) -> Iterator[str]:
    yield "| session | client | tool calls | compactions |"
    yield "|---|---|---|---|"
    for one in sessions:
        yield f"| {one['name']} | {one['client']} | {one['calls']} | {one['compactions']} |"
    yield ""


def _results(budgets: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    for budget, comparisons in budgets.items():
        yield f"### {int(budget):,} characters allowed\n"
        for comparison in comparisons:
            yield f"{comparison['client']}, {comparison['kind']}, {comparison['cuts']} cuts:\n"
            yield from _table(comparison["rows"])


def _table(rows: dict[str, dict[str, float]]) -> Iterator[str]:
    yield f"| text | {' | '.join(COLUMNS)} | false | characters |"
    yield "|" + "---|" * (len(COLUMNS) + 3)
    for name, row in rows.items():
        title = f"**{name}**" if name == OURS else name
        cells = [_cell(row, column) for column in COLUMNS]
        counts = f"{row['false']} of {row['checked']}"
        yield f"| {title} | {' | '.join(cells)} | {counts} | {row['characters']:,} |"
    yield ""
