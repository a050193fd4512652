"""kill -9 at every system call of a restore: the journal is what it was or what the copy is."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.cli import conftest as command_line
from tests.cli.conftest import Holdfast
from tests.maintenance.copies import HOME, prepare, texts_in, what_is_left
from tests.proof.points import listed, traced

pytestmark = pytest.mark.proof
holdfast = command_line.holdfast


@pytest.mark.parametrize("is_damaged", [False, True])
def test_a_restore_is_all_or_nothing_wherever_it_dies(
    repository: Path,
    holdfast: Holdfast,
    strace: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_damaged: bool,
) -> None:
    copy, old, new = prepare(holdfast, tmp_path)
    if is_damaged:
        (HOME / "journal.db").write_bytes(b"garbage" * 5000)
    kept = tmp_path / "kept"
    shutil.copytree(repository, kept)
    words = [sys.executable, "-m", "holdfast", "backup", str(copy), "--restore"]
    log = tmp_path / "calm.log"
    assert traced(strace, [], words, repository, log).code == 0
    points = listed(log, repository)
    assert len(points) > 20
    outcomes: Counter[str] = Counter()
    for number, point in enumerate(points):
        root = tmp_path / f"struck-{number}"
        shutil.copytree(kept, root)
        monkeypatch.chdir(root)
        strike = ["-e", f"inject={point.call}:signal=SIGKILL:when={point.number}"]
        struck = traced(strace, strike, words, root, tmp_path / f"{number}.log")
        assert struck.was_struck, point
        if is_damaged:
            outcome = "restored" if holdfast("history").code == 0 else "damaged"
            assert outcome == "damaged" or what_is_left() == new, point
        else:
            left = what_is_left()
            outcome = "old" if left == old else "restored" if left == new else "neither"
            asides = (texts_in(one) for one in HOME.glob("before-restore-*.db"))
            assert old <= left.union(*asides), point
            assert holdfast("verify").code == 0, point
        outcomes[outcome] += 1
        assert holdfast("backup", str(copy), "--restore").code == 0, point
        assert what_is_left() == new, point
        monkeypatch.chdir(repository)
        shutil.rmtree(root)
    print(f"\nA restore, killed at {len(points)} points: {dict(outcomes)}")
    assert "neither" not in outcomes
    assert outcomes["restored"] > 0
