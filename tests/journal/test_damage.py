"""A changed journal never shows a changed state: the damage is named, or the state is made of the records."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.journal import damage

SEEDS = int(os.environ.get("HOLDFAST_PROOF_DAMAGES", "100"))
Story = tuple[Path, dict[str, Any]]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, first_commit: Path) -> Story:
    """A filled workspace with its log, and the states that it shows."""
    here = tmp_path_factory.mktemp("story")
    shutil.copytree(first_commit, here, dirs_exist_ok=True)
    before = Path.cwd()
    os.chdir(here)
    try:
        damage.fill()
        kept = tmp_path_factory.mktemp("kept")
        shutil.copytree(here, kept, dirs_exist_ok=True, symlinks=True)
        return here, {
            "kept": kept,
            "states": {name: damage.show(name)[1] for name in damage.names()},
        }
    finally:
        os.chdir(before)


def look(states: dict[str, Any], done: str) -> None:
    """Every command says what is wrong, or shows what was true before."""
    for stream, state in states.items():
        called, shown = damage.show(stream)
        assert not called.is_bug, (done, called)
        is_said = "warning:" in called.err or "damaged" in called.out
        assert is_said or shown == state, (done, stream, called)
    for words in damage.LOOKS + damage.WRITES:
        called = damage.Called(*words)
        assert not called.is_bug, (done, called)
        if words == damage.WRITES[0]:
            _look_at_addition(states, done, called)


def _look_at_addition(states: dict[str, Any], done: str, written: damage.Called) -> None:
    """A note that was acknowledged follows those that were there before."""
    called, shown = damage.show("note:n0")
    if called.code or written.code or "warning:" in called.err + written.err:
        return
    texts = [entry["text"] for entry in shown["entries"]]
    assert texts == [*(entry["text"] for entry in states["note:n0"]["entries"]), "goes on"], done


def mend(done: str) -> None:
    """`doctor --fix` makes it whole, and the work goes on."""
    fixed = damage.Called("doctor", "--fix")
    assert not fixed.is_bug, (done, fixed)
    for words in (("verify",), ("note", "mended", "--to", "n0"), ("doctor",)):
        called = damage.Called(*words)
        assert called.code == 0, (done, fixed, called)


@pytest.mark.parametrize("how", [damage.damage_bytes, damage.damage_cell])
@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(n, marks=pytest.mark.proof) for n in range(3, SEEDS))]
)
def test_no_damage_changes_a_state_silently(
    kept: Story, monkeypatch: pytest.MonkeyPatch, how: Callable[[random.Random], str], seed: int
) -> None:
    here, story = kept
    monkeypatch.chdir(here)
    damage.put_back(story["kept"])
    done = how(random.Random(seed))
    look(story["states"], done)
    mend(done)
