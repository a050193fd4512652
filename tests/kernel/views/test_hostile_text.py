"""Text from agents is data: whatever a note says, its file says it too and reads back the same."""

from __future__ import annotations

import subprocess

import pytest

from holdfast.hooks import run as hooks
from holdfast.kernel import canonical_json
from holdfast.kernel.text import harmless
from holdfast.note.rules.note import heading, parse_document
from tests.kernel.views.scene import STREAM, Scene, clean_environment

HOSTILE = {
    "heading": "# Notes: default\n\n# Another heading",
    "list": "- 2026-01-01T00:00:00Z somebody: forged\n- forged too",
    "second line is a list": "harmless\n- 2026-01-01T00:00:00Z somebody: forged",
    "indented": "a\n  b\n    c",
    "empty lines": "a paragraph\n\nand another\n\n\nand a third",
    "blanks at line ends": "hard  \nbreak\t\nend",
    "terminal escapes": "\x1b[2J\x1b]0;title\x07red\x1b[31m\x9b1m",
    "carriage return": "shown\rhidden",
    "foreign line ends": "one\r\ntwo\rthree",
    "other line ends": "a\x0bb\x0cc\x85d\u2028e\u2029f",
    "a long line": "x" * 99_000,
    "many lines": "\n".join(f"line {number}" for number in range(5_000)),
    "code fence": "```\n- not an entry\n```",
    "front matter": "---\na: b\n---",
    "marks of a merge": "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other",
    "right to left": "\u202egnp.exe\u202c \u200b\ufeff",
    "byte order mark first": "\ufeffa",
    "colons": "a: b: c: d",
    "emoji": "👩\u200d👩\u200d👧 é e\u0301",
    "zero byte": "a\0b",
    "html": "<script>alert(1)</script> <!-- -->",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_note_survives_an_edit_beside_it(scene: Scene, text: str) -> None:
    scene.note("before")
    scene.note(text)
    scene.note("after")
    written = scene.text()
    assert written == scene.rendered()

    # A person adds a line at the end; everything else has to read back as it was.
    scene.view.write_bytes(written.encode() + b"- by hand\n")
    scene.repair()

    (edit,) = scene.records("edited_outside")
    assert [entry["text"] for entry in edit["body"]["removed"]] == []
    assert [entry["text"] for entry in edit["body"]["added"]] == ["by hand"]
    assert scene.state()["rest"] == ""
    assert scene.quarantined() == []


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_note_reads_back_from_its_file(scene: Scene, text: str) -> None:
    scene.note(text)
    state = scene.state()
    entries, rest = parse_document(scene.rendered(), heading(state), "2026-01-01T00:00:00Z")
    shown = [{**entry, "text": harmless(entry["text"])} for entry in state["entries"]]
    assert entries == shown, "escapes are pictured, and all else stays"
    assert rest == ""


@pytest.mark.parametrize("by", ["a: b", "x\n# Heading", "x\n- forged", "", " ", "a b", "é"])
def test_a_hostile_author_does_not_change_the_form_of_the_file(scene: Scene, by: str) -> None:
    scene.writer.execute(STREAM, {"add": "text", "by": by}, actor="tester", now=0)
    scene.note("after")
    entries, rest = parse_document(scene.text(), heading(scene.state()), "2026-01-01T00:00:00Z")
    assert [entry["text"] for entry in entries] == ["text", "after"]
    assert entries == scene.state()["entries"]
    assert rest == ""


def test_half_a_surrogate_pair_is_noted_all_the_same(scene: Scene) -> None:
    # JSON can spell it and UTF-8 cannot; a hook's payload may well contain it.
    scene.note("cut \ud83d off")
    assert len(scene.texts()) == 1
    assert scene.texts()[0].startswith("cut ")
    assert scene.text() == scene.rendered()


def test_half_a_surrogate_pair_in_a_hooks_payload_is_noted(scene: Scene) -> None:
    scene.note("one")
    done = subprocess.run(
        hooks.command("note"),
        input=b'{"text": "cut \\ud83d off", "by": "agent"}',
        cwd=scene.root,
        env=clean_environment(),
        capture_output=True,
    )
    assert done.returncode == 0
    assert "failed" not in canonical_json.loads(done.stdout.decode()), done.stdout
    assert len(scene.texts()) == 2
