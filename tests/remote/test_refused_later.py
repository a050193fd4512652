"""A delivery that dies between the server's refusal and this machine's note of it."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.kernel.workspace import discover
from holdfast.remote.spool import Spool
from tests.cli.conftest import Holdfast
from tests.remote.world import AGENT, STREAM, Machine, Outage


class Killed(BaseException):
    """As by kill -9: nobody cleans up."""


def test_what_a_hook_adds_after_a_refusal_is_refused_and_kept_as_well(
    machine: Machine,
    another: Machine,
    outage: Outage,
    holdfast: Holdfast,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine.go()
    assert holdfast("agent", "start", AGENT, "--feature", "feature_01_one").code == 0
    outage.begin()
    assert "failed" not in machine.beat(step="one")
    outage.end()
    another.go()
    assert holdfast("agent", "takeover", AGENT, "--by", AGENT, "--yes").code == 0
    machine.go()

    def die(*_: Any, **__: Any) -> None:
        raise Killed

    with monkeypatch.context() as context:
        context.setattr(Spool, "settle", die)
        with pytest.raises(Killed):
            machine.forward()
    assert "failed" not in machine.beat(step="two")
    machine.forward()
    journal = discover(str(machine.root)).on_server()
    kept = [
        draft["body"]["set"]["current_step"]
        for refusal in journal.refusals(STREAM)
        for draft in refusal["drafts"]
    ]
    journal.close()
    assert kept == ["one", "two"]
