"""An agent as a program has it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import holdfast
from holdfast.estop.stop import release, stop
from holdfast.kernel.clock import now
from holdfast.kernel.errors import FenceLost, NotFound, Stopped
from holdfast.kernel.workspace import discover
from tests.fleet.world import FEATURE, A
from tests.gates.person import at_page


def _file(root: Path) -> dict[str, object]:
    text = (root / "agent_checkpoints" / "secondary_a.json").read_text()
    value: dict[str, object] = json.loads(text)
    return value


def test_a_life_in_a_with_statement(repository: Path) -> None:
    with holdfast.open() as workspace:
        with workspace.agent(A, feature=FEATURE) as me:
            me.beat(step="Writing acceptance criteria", done=["Read the guide"], files=["spec.md"])
            me.block("No data")
            assert _file(repository)["status"] == "BLOCKED"
            me.unblock()
            me.phase("S2.P2")
        assert _file(repository)["stage"] == "S2.P2"
        with workspace.agent(A) as again:
            assert again.fence > me.fence
            assert again.checkpoint["stage"] == "S2.P2"
            with pytest.raises(FenceLost):
                me.beat(step="From an earlier life")
            again.complete()
        assert _file(repository)["status"] == "COMPLETE"


def test_an_agent_outside_of_a_with_statement(repository: Path) -> None:
    with holdfast.open() as workspace, pytest.raises(NotFound):
        _ = workspace.agent(A, feature=FEATURE).fence


def test_an_emergency_stop_reaches_programs(repository: Path) -> None:
    with holdfast.open() as workspace, workspace.agent(A, feature=FEATURE) as me:
        stop(discover(), "too expensive", by="test", now=now())
        with pytest.raises(Stopped) as told:
            me.beat(step="Saved all the same")
        assert told.value.exit_code == 7
        assert _file(repository)["current_step"] == "Saved all the same"
        person = at_page("/dev/pts/9", now=now())
        release(discover(), "", person=person, now=now())
        me.beat(step="On again")
