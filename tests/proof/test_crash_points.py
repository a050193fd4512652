"""kill -9, a full disk and an I/O error at every system call of a capture that changes anything.

Whatever happens at whichever call: what was acknowledged is in the journal, once; the journal is
sound; the view is the old or the new one, whole; and the next command puts everything right.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from holdfast.kernel import canonical_json
from holdfast.kernel.state import at_version
from holdfast.note.rules import note
from tests.kernel.views.scene import STREAM, VIEW, Scene
from tests.proof.points import Point, Struck, listed, traced
from tests.proof.subjects import ID, SUBJECTS, TEXT, Subject, prepared

pytestmark = pytest.mark.proof

STRIKES = {"kill": "signal=SIGKILL", "ENOSPC": "error=ENOSPC", "EIO": "error=EIO"}
DOCUMENTED = (1, 5, 75)


class Proof:
    """One subject, struck at each of its points."""

    def __init__(self, name: str, strace: str, template: Path, folder: Path) -> None:
        self.subject: Subject = SUBJECTS[name]
        self.strace = strace
        self.template = template
        self.folder = folder
        self.violations: list[str] = []

    def points(self) -> list[Point]:
        # Twice: the first run of a hook after a change of our source also writes compiled files.
        for run in ("warm", "observed"):
            root = prepared(self.subject, self.template, self.folder / run)
            log = self.folder / f"{run}.log"
            calm = traced(self.strace, [], self.subject.command(root), root, log)
            assert calm.code == 0, calm.errors
            assert self.is_acknowledged(calm), calm.output
        points = listed(log, root)
        files = {file for point in points for file in point.file.split(" > ")}
        assert self.subject.touches in files, sorted(files)
        self.check_order(points)
        return points

    def check_order(self, points: list[Point]) -> None:
        """What no kill can show, since the kernel keeps what was not synced: the view is written aside
        before the commit, the commit is synced before the view is put in place, and the answer comes
        last."""
        steps = [
            ("write", ".default.md.holdfast."),
            ("fdatasync", "journal.db-wal"),
            ("renameat2", VIEW),
            ("write", "(the answer)"),
        ]
        last = [
            max((n for n, point in enumerate(points) if point.call == call and file in point.file))
            for call, file in steps
        ]
        assert last == sorted(last), dict(zip(steps, last, strict=True))
        assert last[-1] == len(points) - 1

    def strike(self, position: int, point: Point, kind: str) -> str:
        """Strike once; one word about what became of it."""
        where = f"{kind} at {point.call} #{point.number} on {point.file}"
        root = prepared(self.subject, self.template, self.folder / f"{position:03d}-{kind}")
        before = _identities(root)
        inject = f"inject={point.call}:{STRIKES[kind]}:when={point.number}"
        log = self.folder / f"{position:03d}-{kind}.log"
        struck = traced(self.strace, ["-e", inject], self.subject.command(root), root, log)
        problems = self.problems_of_the_process(kind, struck)
        try:
            found, word = self.problems_of_the_workspace(root, before, struck)
            problems += found
        except Exception as error:
            problems, word = [*problems, f"{type(error).__name__}: {error}"], "broken"
        self.violations += [f"{where}: {problem}" for problem in problems]
        return f"{word}{' (!)' if problems else ''}"

    def is_acknowledged(self, struck: Struck) -> bool:
        if self.subject.is_hook:
            answer = canonical_json.loads(struck.output) if struck.output else {}
            return "id" in answer and "failed" not in answer and not answer["queued"]
        return struck.output == "ACK\n"

    def problems_of_the_process(self, kind: str, struck: Struck) -> list[str]:
        problems = []
        if not struck.was_struck:
            problems.append("the strike did not happen: the calls differ from run to run")
        if kind == "kill":
            if struck.code != -9:
                problems.append(f"not killed but ended with {struck.code}")
        elif self.subject.is_hook:
            if struck.code != 0:
                problems.append(f"a hook failed its host with {struck.code}: {struck.errors}")
            answer = canonical_json.loads(struck.output)
            if not (answer.get("id") or answer.get("failed")):
                problems.append(f"a hook neither did it nor said why: {answer}")
        elif struck.code == 0:
            if not self.is_acknowledged(struck):
                problems.append(f"success, but it said {struck.output!r}")
        elif struck.code not in DOCUMENTED or not re.match(r"FAILED \S", struck.output):
            last = struck.errors.strip().rpartition("\n")[2]
            problems.append(f"exit {struck.code}, {struck.output!r}, {last}")
        return problems

    def problems_of_the_workspace(
        self, root: Path, before: _Before, struck: Struck
    ) -> tuple[list[str], str]:
        scene = Scene(root)
        problems: list[str] = []

        def check(is_true: bool, problem: str) -> None:
            if not is_true:
                problems.append(problem)

        try:
            sound = scene.problems()
            check(not sound, f"the journal is damaged: {sound}")
            ids = [record["id"] for record in scene.records()]
            check(len(ids) == len(set(ids)), "a record is there twice")
            check(before.ids <= set(ids), "an acknowledged record is gone")
            is_there = ID in ids
            check(is_there or not self.is_acknowledged(struck), "acknowledged, and not there")
            view = scene.view.read_text() if scene.view.exists() else None
            versions = range(1, len(ids) + 1)
            journal = scene.workspace.journal
            wholes = [note.render(at_version(journal, note, STREAM, v))[VIEW] for v in versions]
            check(view == before.view or view in wholes, f"the view is neither old nor new: {view}")

            # The client was not answered, so it asks again under the same id; then life goes on.
            scene.close()
            scene.note(TEXT, id=ID)
            outcome = scene.note("the next")
            statuses = [report["status"] for report in outcome["views"]]
            check(statuses == ["written"], f"the view after the next command: {outcome['views']}")
            check(scene.text() == scene.rendered(), "the view is not the state")
            texts = scene.texts()
            for text in ("the next", TEXT, *before.texts, *self.subject.texts):
                check(texts.count(text) == 1, f"{text!r} is there {texts.count(text)} times")
            kinds = set(scene.kinds()) - {"noted"}
            check(kinds <= self.subject.kinds, f"something was taken for an edit: {kinds}")
            check(not scene.quarantined(), "something was put into quarantine")
            seen = scene.git("status", "--porcelain", "-uall", "--", ".holdfast")
            check(not seen, f"the tool folder does not ignore itself: {seen!r}")
            sound = scene.problems()
            check(not sound, f"the journal is damaged afterwards: {sound}")
        finally:
            scene.close()
        word = "done" if self.is_acknowledged(struck) else "durable" if is_there else "absent"
        return problems, word


class _Before:
    """What was acknowledged before the strike."""

    def __init__(self, ids: set[str], view: str | None, texts: list[str]) -> None:
        self.ids = ids
        self.view = view
        self.texts = texts


def _identities(root: Path) -> _Before:
    scene = Scene(root)
    try:
        view = scene.view.read_text() if scene.view.exists() else None
        if not scene.workspace.exists():
            return _Before(set(), view, [])
        ids = {record["id"] for record in scene.records()}
        return _Before(ids, view, scene.texts())
    finally:
        scene.close()


@pytest.mark.parametrize("name", SUBJECTS)
def test_every_point(name: str, strace: str, empty_repository: Path, tmp_path: Path) -> None:
    proof = Proof(name, strace, empty_repository, tmp_path)
    points = proof.points()

    def strike_all(position: int) -> list[str]:
        point = points[position]
        kinds = ["kill"] if point.is_answer else list(STRIKES)
        return [proof.strike(position, point, kind) for kind in kinds]

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(strike_all, range(len(points))))

    print(f"\n\n{name}: {len(points)} points, {sum(map(len, outcomes))} runs")
    print(f"{'call':<16}{'kill -9':<13}{'ENOSPC':<13}{'EIO':<13}file")
    for point, words in zip(points, outcomes, strict=True):
        cells = "".join(f"{word:<13}" for word in [*words, "", ""][:3])
        print(f"{f'{point.call} #{point.number}':<16}{cells}{point.file}")
    assert not proof.violations, "\n".join(["", *proof.violations])
