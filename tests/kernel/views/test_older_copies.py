"""Editors that save an older copy, and programs that append to a file which they hold open, while notes are written:
nothing that was acknowledged leaves the file, no edit vanishes, and nothing is there twice."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from tests.kernel.views.conftest import new_scene
from tests.kernel.views.scene import Scene

FIRST_SEED = int(os.environ.get("HOLDFAST_PROOF_SEED", "1000"))

# It does what it is told by a line, and answers: `read`, `save`, `replace` with a line to add; `open`, `append`, `close`.
EDITOR = """
import os, sys
view, copy, held = sys.argv[1], "", None
for line in sys.stdin:
    what, _, said = line.rstrip("\\n").partition(" ")
    added = said + "\\n" if said else ""
    if what == "read":
        copy = open(view).read()
    elif what == "save":
        with open(view, "w") as file:
            file.write(copy + added)
    elif what == "replace":
        with open(view + ".new", "w") as file:
            file.write(copy + added)
        os.rename(view + ".new", view)
    elif what == "open":
        held = open(view, "a")
    elif what == "append":
        held.write(added)
        held.flush()
    elif what == "close":
        held.close()
    print("done", flush=True)
"""


class Editor:
    """A process that edits a file, and one step at a time."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in: IO[str] = process.stdin
        self._out: IO[str] = process.stdout

    def do(self, what: str, line: str = "") -> None:
        self._in.write(f"{what} {line}\n")
        self._in.flush()
        assert self._out.readline() == "done\n"


@contextmanager
def editor_of(view: Path) -> Iterator[Editor]:
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", EDITOR, str(view)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield Editor(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=30) == 0


def said_in(scene: Scene) -> list[str]:
    """What each line of the file says, without its date."""
    lines = [line.strip().removeprefix("- ") for line in scene.text().splitlines()[1:]]
    return [
        line.partition(" tester: ")[2] or line.partition(" outside: ")[2] or line
        for line in lines
        if line
    ]


@pytest.mark.parametrize("adds", [True, False], ids=["with a line", "unchanged"])
@pytest.mark.parametrize("way", ["save", "replace"])
@pytest.mark.parametrize("gap", [1, 5])
def test_an_editor_that_saves_an_older_copy_hides_no_note(
    scene: Scene, way: str, gap: int, adds: bool
) -> None:
    scene.note("note 0")
    notes, lines = ["note 0"], []
    with editor_of(scene.view) as editor:
        for number in range(0, 32, gap):
            editor.do("read")
            for one in range(number, number + gap):
                notes.append(f"note {one + 1}")
                scene.note(notes[-1])
            if adds:
                lines.append(f"by hand {number}")
            editor.do(way, f"- {lines[-1]}" if adds else "")
    scene.note("the last")

    assert sorted(said_in(scene)) == sorted([*notes, *lines, "the last"])
    assert scene.text() == scene.rendered()


@pytest.mark.parametrize("form", ["{}", "- {}"], ids=["text", "entry"])
@pytest.mark.parametrize("rounds", [1, 3, 16])
def test_what_a_program_appends_to_a_file_that_it_holds_is_there_once(
    scene: Scene, form: str, rounds: int
) -> None:
    scene.note("note 0")
    notes, lines = ["note 0"], []
    with editor_of(scene.view) as editor:
        for number in range(16):
            if number % rounds == 0:
                editor.do("open")
            notes.append(f"note {number + 1}")
            scene.note(notes[-1])
            lines.append(f"line {number}")
            editor.do("append", form.format(lines[-1]))
            if number % rounds == rounds - 1:
                editor.do("close")
    scene.note("the last")
    scene.repair()

    assert sorted(said_in(scene)) == sorted([*notes, *lines, "the last"])
    assert scene.text() == scene.rendered()


def test_the_removal_of_the_newest_line_waits_for_a_person(scene: Scene) -> None:
    scene.note("one")
    older = scene.text()
    scene.note("two")
    scene.view.write_text(older)
    scene.note("three")

    assert scene.texts() == ["one", "two", "three"]
    (removal,) = scene.state()["conflicts"]
    assert removal["ours"].endswith("tester: two")
    assert removal["theirs"] == "(removed)"
    command = {"do": "settle", "conflict": removal["id"], "take": "edited"}
    scene.writer.execute("note:default", command, actor="tester", now=0)
    assert scene.texts() == ["one", "three"]
    assert scene.state()["conflicts"] == []
    assert scene.text() == scene.rendered()


def test_a_line_that_is_not_the_newest_was_seen_by_who_removes_it(scene: Scene) -> None:
    for text in ("one", "two", "three"):
        scene.note(text)
    lines = [line for line in scene.text().splitlines() if not line.endswith("two")]
    scene.view.write_text("\n".join(lines) + "\n")
    scene.note("four")

    assert scene.texts() == ["one", "three", "four"]


def test_a_file_that_a_person_emptied_is_empty(scene: Scene) -> None:
    for text in ("one", "two"):
        scene.note(text)
    scene.view.write_text("# Notes: default\n")
    scene.note("three")

    assert scene.texts() == ["three"]


def test_an_older_file_that_is_put_back_with_its_time_is_what_holds(scene: Scene) -> None:
    scene.note("one")
    older, when = scene.text(), scene.view.stat().st_mtime_ns - 60 * 10**9
    scene.note("two")
    scene.view.write_text(older)
    os.utime(scene.view, ns=(when, when))
    scene.note("three")

    assert scene.texts() == ["one", "three"]


class Desk:
    """Notes, editors with their copies and programs with open files, in any order."""

    def __init__(self, scene: Scene, chance: random.Random) -> None:
        self.scene = scene
        self.chance = chance
        self.copies: list[tuple[str, int]] = []
        self.held: list[IO[str]] = []
        self.said: list[str] = []
        self.undone: set[str] = set()
        self.note()

    @property
    def expected(self) -> list[str]:
        return sorted(set(self.said) - self.undone)

    def note(self) -> None:
        self.said.append(f"note {len(self.said)}")
        self.scene.note(self.said[-1])

    def read(self) -> None:
        self.copies.append((self.scene.text(), len(self.said)))

    def save(self) -> None:
        if not self.copies:
            return
        copy, known = self.copies.pop(self.chance.randrange(len(self.copies)))
        since = self.said[known:]
        if self.chance.random() < 0.7:
            copy += self._line()
        elif not any(one.startswith("note") for one in since):
            self.undone.update(since)  # edits by hand, taken back by hand
        if self.chance.random() < 0.5:
            self.scene.view.write_text(copy)
        else:
            # What has the file open that an editor replaces writes to no file any more.
            here = self.scene.view.stat().st_ino
            for file in [one for one in self.held if os.fstat(one.fileno()).st_ino == here]:
                self.held.remove(file)
                file.close()
            new = self.scene.root / "copy"
            new.write_text(copy)
            new.rename(self.scene.view)
        self.scene.repair()  # one look for each save: of two saves between two looks, the last one is seen

    def open(self) -> None:
        if len(self.held) < 2:
            self.held.append(self.scene.view.open("a"))

    def append(self) -> None:
        if self.held:
            file = self.chance.choice(self.held)
            file.write(self._line())
            file.flush()
            self.scene.repair()

    def close(self) -> None:
        if self.held:
            self.held.pop(self.chance.randrange(len(self.held))).close()

    def _line(self) -> str:
        self.said.append(f"by hand {len(self.said)}")
        return f"- {self.said[-1]}\n"

    def end(self) -> None:
        while self.held:
            self.close()
        self.scene.repair()
        self.note()


def play(seed: int, steps: int, folder: Path) -> None:
    scene = new_scene(folder / f"desk-{seed}")
    try:
        desk = Desk(scene, random.Random(seed))
        acts = [desk.note, desk.note, desk.read, desk.save, desk.open, desk.append, desk.close]
        done = []
        for _ in range(steps):
            act = desk.chance.choice(acts)
            done.append(act.__name__)
            act()
        desk.end()
        assert sorted(said_in(scene)) == desk.expected, (seed, done)
        assert scene.text() == scene.rendered()
        assert scene.problems() == []
    finally:
        scene.close()


@pytest.mark.parametrize("seed", range(12))
def test_edits_and_notes_in_any_order_are_all_there_once(seed: int, tmp_path: Path) -> None:
    play(seed, 30, tmp_path)


@pytest.mark.proof
def test_edits_and_notes_in_any_order_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOLDFAST_PROOF_SEED", raising=False)
    for seed in range(FIRST_SEED, FIRST_SEED + 100):
        play(seed, 60, tmp_path)
