"""While another process holds the workspace, a client is not kept waiting and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.kernel import failures, inbox
from holdfast.kernel import workspace as workspace_module
from holdfast.kernel.errors import StoreAway
from holdfast.kernel.lock import WorkspaceLock
from holdfast.kernel.workspace import discover
from tests.hooks.world import ask
from tests.session import world as session_world
from tests.session.world import WORK, Holdfast

holdfast = session_world.holdfast


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace_module, "HOOK_PATIENCE", 0.05)


@pytest.mark.parametrize("event", ["PreCompact", "Stop", "SessionEnd"])
def test_the_capture_goes_to_the_inbox(repository: Path, holdfast: Holdfast, event: str) -> None:
    holdfast("checkpoint", *WORK, "--session", "s1")
    # The lock is held until the hook is over: had it waited for it, it would never come back.
    with WorkspaceLock(discover().home):
        assert ask("claude", event, reason="exit") == {}
        assert len(inbox.list_waiting(str(repository))) == (2 if event == "SessionEnd" else 1)
    assert failures.read(discover()) == []
    assert holdfast("note", "Somebody writes again.").code == 0
    assert inbox.list_waiting(str(repository)) == []
    (one,) = holdfast("resume", "--list", "--json").data["sessions"]
    assert one["captures"] == 2
    assert bool(one["ended_at"]) == (event == "SessionEnd")
    kinds = [each["kind"] for each in holdfast("history", "--json").data["records"]]
    if event == "SessionEnd":
        # What the process after the turn records may come at any moment.
        spoken = [kind for kind in kinds if kind not in ("surveyed", "observed")]
        assert spoken[:3] == ["noted", "ended", "captured"], "newest first"


def test_all_the_waiting_of_a_hook_is_bounded_together(repository: Path) -> None:
    workspace = discover(local=True)
    workspace.patience = 0.01
    with WorkspaceLock(workspace.home):
        for _ in range(3):
            with pytest.raises(StoreAway):
                workspace.lock().acquire()
