"""The course of a session: each thing once, at its time; read on where the last look ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from scripts import readme

from holdfast.clients.discovery import session_at
from holdfast.observe.course import SessionCourse

SESSION = "022bdfed-56c0-4976-b946-1579523829e7"


def course_of(path: Path) -> SessionCourse:
    found = session_at(str(path))
    assert found is not None
    return SessionCourse(found, lambda text: text)


def transcript(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_bytes(content)
    return path


def test_reading_in_parts_equals_reading_at_once(tmp_path: Path) -> None:
    lines = readme.begun_session().splitlines(keepends=True)
    path = transcript(tmp_path, b"".join(lines[:20]))
    growing = course_of(path)
    growing.read()
    for line in lines[20:]:
        with path.open("ab") as file:
            file.write(line)
        growing.read()
    whole = course_of(path)
    assert whole.read()
    assert growing.moments == whole.moments
    assert not whole.read(), "nothing is new"
    assert [one.at for one in whole.moments] == sorted(one.at for one in whole.moments)
    failed = [one.text for one in whole.moments if one.kind == "failure"]
    assert (
        failed
        == ["python3 -m unittest tests.test_amounts"] * 2
        + ["python3 -m unittest tests.test_export"] * 2
    )


def test_a_replaced_transcript_begins_anew(tmp_path: Path) -> None:
    lines = readme.begun_session().splitlines(keepends=True)
    path = transcript(tmp_path, b"".join(lines))
    course = course_of(path)
    course.read()
    path.unlink()
    transcript(tmp_path, b"".join(lines[:30]))
    course.read()
    fresh = course_of(path)
    fresh.read()
    assert course.moments == fresh.moments


def test_the_beginning_of_a_long_transcript_is_not_skimmed(tmp_path: Path) -> None:
    lines = readme.begun_session().splitlines(keepends=True)
    padding = json.dumps({"type": "progress", "data": "x" * 100_000}).encode() + b"\n"
    short, long = course_of(transcript(tmp_path, b"".join(lines))), None
    short.read()
    (tmp_path / "long").mkdir()
    long = course_of(transcript(tmp_path / "long", b"".join(lines) + padding * 30))
    long.read()
    assert long.moments == short.moments


def test_an_edit_that_failed_did_not_happen(tmp_path: Path) -> None:
    content = readme.begun_session().splitlines(keepends=True)
    records: list[dict[str, Any]] = [json.loads(line) for line in content]
    whole = course_of(transcript(tmp_path, b"".join(content)))
    whole.read()
    used = [
        block["id"]
        for record in records
        for block in _blocks(record)
        if block.get("type") == "tool_use" and block["name"] in ("Edit", "Write")
    ]
    for record in records:
        for block in _blocks(record):
            if block.get("tool_use_id") == used[0]:
                block["is_error"] = True
    (tmp_path / "failed").mkdir()
    text = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    failed = course_of(transcript(tmp_path / "failed", text))
    failed.read()
    kinds = [one.kind for one in whole.moments]
    assert [one.kind for one in failed.moments].count("edit") == kinds.count("edit") - 1


def _blocks(record: dict[str, Any]) -> list[dict[str, Any]]:
    content = (record.get("message") or {}).get("content")
    return [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
