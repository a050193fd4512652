"""Recorded sessions to judge by."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.continuity.record import RECORDINGS
from bench.continuity.transcripts import Recording, recordings_in


@pytest.fixture(scope="session")
def recordings() -> dict[str, Recording]:
    """All recorded sessions, by their names."""
    found = recordings_in(str(RECORDINGS))
    return {recording.name.rpartition(".")[0]: recording for recording in found}


@pytest.fixture
def short(recordings: dict[str, Recording]) -> Recording:
    return recordings["claude-short"]


@pytest.fixture
def transcripts(tmp_path: Path) -> Path:
    """A folder with one transcript, as a user may have it."""
    folder = tmp_path / "transcripts"
    folder.mkdir()
    name = "claude-short.jsonl.gz"
    (folder / name).write_bytes((RECORDINGS / "claude" / name).read_bytes())
    return folder
