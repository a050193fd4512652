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

SEEDS = int(os.environ.get("HOLDFAST_PROOF_SEED", "0"))
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
        is_said = "warning:" in called.err or called.code != 0
        assert is_said or shown == state, (done, stream, called)
    for words in damage.LOOKS + damage.WRITES:
        called = damage.Called(*words)
        assert not called.is_bug, (done, called)


@pytest.mark.parametrize("how", [damage.damage_bytes, damage.damage_cell])
@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(n, marks=pytest.mark.proof) for n in range(3, 80))]
)
def test_no_damage_changes_a_state_silently(
    kept: Story, monkeypatch: pytest.MonkeyPatch, how: Callable[[random.Random], str], seed: int
) -> None:
    here, story = kept
    monkeypatch.chdir(here)
    damage.put_back(story["kept"])
    done = how(random.Random(seed))
    look(story["states"], done)
