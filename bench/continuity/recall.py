"""Is a past session found? Questions about the recorded sessions, whose answers are known: the jobs that each did.

A question is a job's commit subject, which is taken out of the transcripts first, or the same in a person's own words. The
sessions that did the job are the answers, several for each: beside the first hit, the share of answers among so many
hits is told.
"""

from __future__ import annotations

import gzip
import os
import re
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import apsw

from bench.continuity import jobs
from bench.continuity.jobs import Job
from holdfast.clients import kept
from holdfast.clients.discovery import Everywhere, list_since
from holdfast.clients.transcripts import read_new
from holdfast.kernel import clock, config
from holdfast.memory.earlier import files_named
from holdfast.memory.find import FindRequest, find
from holdfast.memory.index import path as index_path
from holdfast.memory.keep import keep_sessions

if TYPE_CHECKING:
    from holdfast.clients.conversation import SessionEvent
    from holdfast.clients.discovery import FoundSession

RECORDINGS = Path(__file__).parent / "recordings"
HIDDEN = "(left out)"
CHUNK, MOST = 1500, 10
# The jobs as a person would ask for them a month later.
OWN_WORDS = {
    "thousands": "bank statements with separators in big numbers were rejected",
    "refunds": "negative money in parentheses for the accountants",
    "payees": "names of shops that contain quotation marks",
    "budgets": "limits did not include the sub categories",
    "csv": "spreadsheet file broke because of a comma in a name",
    "json": "decimals lost precision in the machine readable output",
    "tables": "numbers in a column should line up on the right side",
    "payee-filter": "search for a shop should not care about upper case or umlauts",
    "quarters": "a report over three months",
    "tags": "hash words at the end of a line",
    "stdin": "pipe the file into the command instead of naming it",
}
# Prompts that have nothing to do with the recorded project.
UNRELATED = (
    "Write a haiku about the sea.",
    "What is the difference between a mutex and a semaphore?",
    "Set up ESLint with the config in eslint.config.js.",
    "The login page in src/Login.tsx shows a blank screen on Safari.",
    "Rename the chart in deploy/values.yaml and bump Chart.yaml to 1.4.0.",
    "Why is node_modules/.bin/tsc so slow here?",
    "Explain this: TypeError: 'NoneType' object is not subscriptable.",
    "Translate README.de.md into English, e.g. the first part.",
    "Add a migration 0042_users.sql that drops the column.",
    "Make the tests green.",
    "continue",
    "Look at https://example.org/docs/index.html and summarise it.",
    "Use version 3.12 of Python in the Dockerfile.",
    "Please review the pull request.",
    "How do I revert the last commit?",
    "Delete everything below build/ that is older than a week.",
    "Draw an architecture diagram as docs/architecture.svg.",
    "The cron job at 02.30 failed again.",
    "Find out who calls parse() in lib/reader.c.",
    "Ship it.",
)


class Laid(NamedTuple):
    """The recorded sessions in a home: their transcripts' bytes, and which sessions did each job."""

    size: int
    did: dict[str, set[str]]


def lay_out(home: Path) -> Laid:
    """Put the recordings where their clients do, without the subjects of their commits."""
    known = list_jobs()
    did: dict[str, set[str]] = {job.name: set() for job in known}
    size = 0
    root = home / ".gemini/tmp/recorded/.project_root"
    root.parent.mkdir(parents=True)
    root.write_text("/recorded", encoding="utf-8")
    for packed in sorted(RECORDINGS.glob("*/*.gz")):
        content = gzip.decompress(packed.read_bytes())
        path = _path_in(home, packed.name.removesuffix(".gz"), content)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        if path.suffix == ".db":
            _hide_in_database(path, [job.commit for job in known])
        else:
            for job in known:
                content = content.replace(job.commit.encode(), HIDDEN.encode())
            path.write_bytes(content)
        size += path.stat().st_size
    for found in list_since(Everywhere()):
        text = "\n".join(_texts(found))
        for job in known:
            if job.request[:40] in text:
                did[job.name].add(found["session"])
    return Laid(size, did)


def list_jobs() -> list[Job]:
    return [one for one in vars(jobs).values() if isinstance(one, Job)]


def _path_in(home: Path, name: str, content: bytes) -> Path:
    client = name.partition("-")[0]
    session = re.search(rb'"(?:session_?[iI]d|id)":\s*"([0-9a-f-]{36})"', content)
    id = session[1].decode() if session else name
    if client == "claude":
        return home / ".claude/projects/-recorded" / f"{id}.jsonl"
    if client == "codex":
        return home / ".codex/sessions/2026/11/01" / f"rollout-2026-11-01T00-00-00-{id}.jsonl"
    if client == "gemini":
        return home / ".gemini/tmp/recorded/chats" / f"session-{name}"
    return home / ".local/share/opencode" / name


def _hide_in_database(path: Path, subjects: Sequence[str]) -> None:
    database = apsw.Connection(str(path))
    try:
        for subject in subjects:
            database.execute("UPDATE part SET data = replace(data, ?, ?)", (subject, HIDDEN))
            database.execute("UPDATE session SET title = replace(title, ?, ?)", (subject, HIDDEN))
    finally:
        database.close()


def _texts(found: FoundSession) -> list[str]:
    events = read_new(found, whole=True)["events"]
    return [event.text for event in events if event.text and event.kind != "result"]


# Candidates


def chunks_of(laid: Laid) -> Callable[[str], list[str]]:
    """Return the naive search that stands beside ours: pieces of equal length with BM25."""
    database = sqlite3.connect(":memory:")
    database.execute(
        "CREATE VIRTUAL TABLE piece USING fts5(name UNINDEXED, body, tokenize = 'porter unicode61')"
    )
    for found in list_since(Everywhere()):
        body = "\n".join(_texts(found))
        rows = [(found["session"], body[at : at + CHUNK]) for at in range(0, len(body), CHUNK)]
        database.executemany("INSERT INTO piece VALUES (?, ?)", rows)

    def search(question: str) -> list[str]:
        words = dict.fromkeys(re.findall(r"\w{2,}", question))
        match = " OR ".join(f'"{word}"' for word in words)
        sql = "SELECT name FROM piece WHERE piece MATCH ? ORDER BY bm25(piece) LIMIT 200"
        return list(dict.fromkeys(name for (name,) in database.execute(sql, (match,))))[:MOST]

    return search


def ours(question: str) -> list[str]:
    found = find(FindRequest(question, "/", is_all=True, limit=MOST))
    return [hit["session"] for hit in found["hits"]]


def score(
    search: Callable[[str], list[str]], questions: dict[str, str], laid: Laid
) -> dict[str, float]:
    """Return the share of questions whose first hit is right, and the share of answers among so many hits."""
    first, among = [], []
    for name, question in questions.items():
        hits, answers = search(question), laid.did[name]
        first.append(float(bool(hits) and hits[0] in answers))
        among.append(len(answers.intersection(hits[: len(answers)])) / len(answers))
    return {"first": round(statistics.mean(first), 2), "among": round(statistics.mean(among), 2)}


# Reminders


def count_reminders() -> dict[str, int]:
    """Return how many prompts name a file that an earlier session edited, how many of these sessions go on to touch
    it, and how many unrelated prompts do."""
    sessions = sorted(list_since(Everywhere()), key=lambda one: one["session"])
    edited: set[str] = set()
    prompts = told = right = 0
    for found in sessions:
        events = read_new(found, whole=True)["events"]
        touched = {Path(one.path).name for one in events if one.kind in ("edit", "read")}
        for name in _named(events):
            if name is None:
                prompts += 1
            elif name in edited:
                told += 1
                right += name in touched
        edited |= {Path(one.path).name for one in events if one.kind == "edit"}
    unrelated = [
        one for one in UNRELATED if any(Path(name).name in edited for name in files_named(one))
    ]
    return {
        "prompts": prompts,
        "told": told,
        "right": right,
        "unrelated": len(UNRELATED),
        "unrelated_told": len(unrelated),
    }


def _named(events: Sequence[SessionEvent]) -> Iterator[str | None]:
    """Return None for each prompt, and then the first new file that it names."""
    seen: set[str] = set()
    for event in events:
        if event.kind == "prompt":
            yield None
            new = [Path(name).name for name in files_named(event.text)]
            new = [name for name in new if name not in seen]
            seen.update(new[:1])
            yield from new[:1]


def measure() -> dict[str, Any]:
    """Return all figures of finding a past session, from a home of its own."""
    with tempfile.TemporaryDirectory() as folder:
        saved = {name: os.environ.get(name) for name in ("HOME", "XDG_DATA_HOME")}
        os.environ["HOME"] = folder
        os.environ.pop("XDG_DATA_HOME", None)
        try:
            return _measure(Path(folder))
        finally:
            for name, value in saved.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value


def _measure(home: Path) -> dict[str, Any]:
    laid = lay_out(home)
    subjects = {job.name: job.commit for job in list_jobs()}
    began = time.perf_counter()
    ours("anything")
    built = time.perf_counter() - began
    began = time.perf_counter()
    rows = {
        "holdfast find": {
            "subject": score(ours, subjects, laid),
            "own words": score(ours, OWN_WORDS, laid),
        }
    }
    a_query = (time.perf_counter() - began) / (2 * len(subjects))
    pieces = chunks_of(laid)
    rows["pieces, BM25"] = {
        "subject": score(pieces, subjects, laid),
        "own words": score(pieces, OWN_WORDS, laid),
    }
    keep_sessions(Everywhere(), config.without_file(), now=clock.now() + clock.DAY)
    return {
        "sessions": len({session for each in laid.did.values() for session in each}),
        "questions": len(subjects),
        "bytes": laid.size,
        "rows": rows,
        "index_share": round(os.path.getsize(index_path()) / laid.size, 3),
        "kept_share": round(sum(map(os.path.getsize, kept.list_all("/"))) / laid.size, 3),
        "seconds_first": round(built, 2),
        "seconds_a_query": round(a_query, 3),
        "reminders": count_reminders(),
    }


if __name__ == "__main__":
    import json

    print(json.dumps(measure(), indent=1))
    sys.exit(0)
