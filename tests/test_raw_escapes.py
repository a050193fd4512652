"""No raw escape stands in a file that people `cat`, whatever an agent says, through which command."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from holdfast.kernel.text import harmless, harmless_json
from tests.rfc import world
from tests.rfc.world import DISCOVER, Holdfast

holdfast = world.holdfast
# Colours, a link of OSC 8, a bell, a C1 control, a return, letters in another order, blanks of no width.
HOSTILE = (
    "a\x1b[31mb\x1b]8;;http://x.invalid\x07c\x1b]8;;\x07d\x9b1me\x7ff\x08g\rh"
    "\u202ei\u2066j\u2069k\u200bl\ufeffm"
)
RAW = {
    *(chr(code) for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"),
    *"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u2060\ufeff",
}
NO_TEXT = (".db", ".db-wal", ".db-shm", ".db-mark")


def raw_files(root: Path) -> dict[str, list[str]]:
    """The files of ours with raw escapes, and which these are."""
    found = {}
    for path in [*root.rglob("*"), *(root / ".git" / "holdfast").rglob("*")]:
        is_gits = ".git" in path.parts and "holdfast" not in path.parts
        if path.is_file() and not is_gits and not path.name.endswith(NO_TEXT):
            raw = sorted(RAW & set(path.read_text("utf-8", "replace")))
            if raw and "index-" not in str(path):
                found[str(path.relative_to(root))] = raw
    return found


def say_everything(holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command that writes a text into a file, with the hostile one in all its places."""
    given = DISCOVER.replace("The cache is per process", f"The {HOSTILE} cache")
    said = (
        ("note", HOSTILE),
        *(
            ("checkpoint", f"--{name}", HOSTILE)
            for name in ("task", "status", "decision", "blocker", "next", "remaining", "title")
        ),
        ("agent", "start", "Secondary-A", "--feature", "feature_02"),
        ("agent", "beat", "Secondary-A", "--step", HOSTILE),
        ("agent", "block", "Secondary-A", HOSTILE),
        ("agent", "send", "Secondary-A", "--subject", HOSTILE, "--details", HOSTILE),
        ("loop", "start", "EXECUTE", "--track", "demo", "--tasks-total", "3"),
        ("loop", "progress", "--track", "demo", "--notes", HOSTILE, "--current-task", HOSTILE),
        ("loop", "task-done", "--track", "demo", HOSTILE, "--message", HOSTILE),
        ("loop", "block", "--track", "demo", HOSTILE),
        ("rfc", "init", "auth-model"),
        ("rfc", "write", "discover"),
        ("gate", "verify", "--built", HOSTILE, "--how", HOSTILE),
        ("guard", "check", "--cost", "30"),
        ("estop", "--reason", HOSTILE),
    )
    for words in said:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode()), "utf-8"))
        answer = holdfast(*words)
        assert answer.code in (0, 1, 7, 8), (words, answer.code, answer.err)


def test_no_file_holds_a_raw_escape(
    repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    say_everything(holdfast, monkeypatch)
    views = {str(path.relative_to(repository)) for path in repository.rglob("*") if path.is_file()}
    assert {".notes/default.md", ".ccc-progress.md", ".ohrfc/auth-model/checkpoint.md"} <= views
    assert {"agent_checkpoints/secondary_a.json", "conductor/tracks/demo/metadata.json"} <= views
    assert raw_files(repository) == {}


def test_an_edit_beside_them_doubles_nothing(
    repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is pictured in the file reads back as what was said."""
    say_everything(holdfast, monkeypatch)
    for name, line in (
        (".notes/default.md", "- by hand\n"),
        (".ccc-progress.md", "\n## Own\n- by hand\n"),
        (".ohrfc/auth-model/checkpoint.md", "\n---\n## Own\n- by hand\n"),
    ):
        path = repository / name
        path.write_text(path.read_text() + line)
    before = {name: (repository / name).read_text() for name in (".notes/default.md",)}
    assert holdfast("doctor", "--fix").code == 0
    entries = holdfast("note", "--json").data["state"]["entries"]
    assert [entry["text"] for entry in entries[1:]] == ["by hand"]
    assert "\x1b[31m" in entries[0]["text"], "the journal keeps what was said"
    text = (repository / ".notes/default.md").read_text()
    assert text.count("␛[31m") == 1, before
    assert "by hand" in (repository / ".ccc-progress.md").read_text()
    assert raw_files(repository) == {}


def test_making_a_text_harmless_twice_changes_nothing() -> None:
    once = harmless(HOSTILE)
    assert not RAW & set(once)
    assert harmless(once) == once
    spelled = harmless_json(f'"{HOSTILE.translate(dict.fromkeys(range(32)))}"')
    assert harmless_json(spelled) == spelled
    assert not RAW & set(spelled)


def test_the_letters_of_every_language_stay() -> None:
    for text in ("می\u200cخواهم", "👩\u200d👩\u200d👧", "שלום", "é e\u0301", "漢字", "नमस्ते"):
        assert harmless(text) == text
