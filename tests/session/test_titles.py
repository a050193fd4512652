"""One session has one title: on the page, in the status and in the list."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.kernel import clock
from holdfast.kernel.workspace import discover
from holdfast.session import sessions
from tests.session import world
from tests.session.world import TRANSCRIPT, Conversation, Holdfast

holdfast, conversation, home = world.holdfast, world.conversation, world.home
REQUEST = "Please do the work that is to be done"


def test_a_session_has_the_same_title_everywhere(
    conversation: Conversation, holdfast: Holdfast
) -> None:
    conversation.plan(Read="completed", Parser="in_progress")
    conversation.leave()
    holdfast("checkpoint", "--session", TRANSCRIPT)
    listed = holdfast("resume", "--list").out
    status = holdfast("status").out
    assert REQUEST in listed
    assert REQUEST in status
    assert "unknown issue" not in listed + status


@pytest.mark.clause("CCC-02")
def test_a_session_beside_this_one_is_not_taken_over(repository: Path, holdfast: Holdfast) -> None:
    """Two sessions work in one folder; the second ends first, and nobody took its work over."""
    holdfast("checkpoint", "--session", "second", "--task", "Docs", "--skip-git")
    workspace = discover()
    second = sessions.read(workspace, "second")
    ended: Any = {**second, "ended_at": clock.stamp(clock.now())}
    before, after = clock.stamp(clock.now() - clock.MINUTE), clock.stamp(clock.now() + clock.MINUTE)
    assert sessions.predecessor([ended], "first", before) is None
    assert sessions.predecessor([ended], "first", after) == ended
    assert sessions.predecessor([ended], "first") == ended
    workspace.close()
