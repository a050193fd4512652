"""The recorded sessions and the program that wrote them."""

from __future__ import annotations

import gzip
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from bench.continuity.author import Author, Turn
from bench.continuity.jobs import JOBS
from bench.continuity.record import RECORDINGS, SESSIONS
from bench.continuity.transcripts import Recording

# Folders of the machine that recorded; inside, the client saw a home of its own.
ELSEWHERE = re.compile(rb"/(?:root|work|wt|workspace|opt|mnt|Users|home/(?!dev\b))[/\"]")


def test_every_session_is_recorded(recordings: dict[str, Recording]) -> None:
    assert set(recordings) == set(SESSIONS)
    for name, recording in recordings.items():
        assert recording.client == SESSIONS[name].client
        assert 60 <= len(recording.calls) <= 300, name


def test_compactions_are_where_the_sessions_have_them(recordings: dict[str, Recording]) -> None:
    for name, recording in recordings.items():
        compactions = sum(event.kind == "compact" for event in recording.events)
        assert compactions == len(SESSIONS[name].compact_at), name


def test_no_recording_names_a_folder_of_the_machine() -> None:
    for path in RECORDINGS.rglob("*.gz"):
        found = ELSEWHERE.search(gzip.decompress(path.read_bytes()))
        assert not found, (path.name, found)


def test_each_session_has_failures_edits_and_tasks(recordings: dict[str, Recording]) -> None:
    for name, recording in recordings.items():
        kinds = {event.kind for event in recording.events}
        assert {"prompt", "said", "run", "edit", "result"} <= kinds, name
        assert kinds & {"task", "tasks"}, name
        assert any(event.failed for event in recording.events), name


def test_the_same_seed_writes_the_same_session() -> None:
    first, second = (Author(5, automatic=False).write(["tags", "csv"]) for _ in range(2))
    assert first == second
    assert Author(6, automatic=False).write(["tags", "csv"]) != first


def test_a_file_is_edited_only_after_it_was_read() -> None:
    parts = Author(7, automatic=False).write(list(JOBS), [2, 5])
    read: set[str] = set()
    for part in parts:
        if not isinstance(part, Turn):
            read.clear()
            continue
        for step in part.steps:
            if step["kind"] == "look":
                read.add(step["path"])
            if step["kind"] == "edit":
                assert step["path"] in read


@pytest.mark.parametrize("seed", [1, 2])
def test_all_jobs_together_leave_a_code_base_that_passes(seed: int, tmp_path: Path) -> None:
    author = Author(seed, automatic=False)
    author.write(random.Random(seed).sample(list(JOBS), len(JOBS)))
    for path, text in author.files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "unittest", "discover", "-s", "tests", "-t", "."],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_a_pack_is_the_same_in_every_process(tmp_path: Path) -> None:
    """Sums of weights once followed the order of a set: of two sentences that are worth the same, either was told."""
    transcript = tmp_path / "claude-long.jsonl"
    whole = gzip.decompress((RECORDINGS / "claude" / "claude-long.jsonl.gz").read_bytes())
    transcript.write_bytes(b"\n".join(whole.split(b"\n")[:214]) + b"\n")
    os.utime(transcript, (0, 0))
    command = [sys.executable, "-m", "holdfast", "resume", "--transcript", str(transcript)]
    packs = {
        subprocess.run(
            command, cwd=tmp_path, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True
        ).stdout
        for seed in ("0", "5")
    }
    assert len(packs) == 1
    assert b"## What happened, oldest first" in packs.pop()
