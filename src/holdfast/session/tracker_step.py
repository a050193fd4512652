"""The status comment on the issue: what waits in the outbox is delivered, and what comes back is kept."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holdfast.kernel import clock, outbox
from holdfast.kernel.crash import reached
from holdfast.kernel.errors import HoldfastError, NotAllowed
from holdfast.kernel.text import quote
from holdfast.kernel.trust import ISSUE, is_known_here, remember_here
from holdfast.kernel.workspace import Workspace
from holdfast.kernel.writer import Writer
from holdfast.session.ccc_files import COMMENT, COMMENT_ISSUE, read_state, store_comment
from holdfast.session.rules import report
from holdfast.session.rules import session as rules
from holdfast.trackers.port import CommentReceipt

if TYPE_CHECKING:
    from holdfast.journal.interface import Effect
    from holdfast.kernel.outbox import Delivery
    from holdfast.session.rules.report import Step

# A checkpoint waits at most this long for the tracker.
PATIENCE_SECONDS = 5.0
PAUSE_SECONDS = 0.05
# One comment an issue and workspace, whichever session writes.
KEY = "checkpoint-status"


class NotSetUp(Exception):
    """No key, or no tracker that such an issue could belong to: nothing to do, and no failure."""


def deliver_now(
    workspace: Workspace, writer: Writer, waiting: Effect, settings: Mapping[str, Any], now: int
) -> Step:
    """Step 3 of a checkpoint, whose comment waits in the outbox."""
    issue, mine = waiting["key"], waiting["id"]
    remember_here(workspace, ISSUE + issue)
    for delivery in deliver(workspace, writer, settings, now, current=issue, first=mine):
        if delivery["id"] != mine:
            continue
        if delivery["delivered"]:
            return report.done(report.TRACKER)
        if delivery["error"] == NOT_SET_UP:
            workspace.journal.settle(mine)
            return report.skipped(report.TRACKER, "Linear update skipped — no tracker configured.")
        return report.failed(report.TRACKER, delivery["error"].rstrip("."))
    error = _await_another(workspace, mine, waiting["error"])
    return (
        report.failed(report.TRACKER, error.rstrip(".")) if error else report.done(report.TRACKER)
    )


def _await_another(workspace: Workspace, id: str, before: str) -> str:
    """Wait for an effect that another checkpoint delivers at this moment; why it did not arrive."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        effects = workspace.journal.effects(kinds=[rules.TRACKER])
        mine = next((effect for effect in effects if effect["id"] == id), None)
        if mine is None:
            return ""  # delivered, or told by a later checkpoint in its place
        if mine["error"] or before or time.monotonic() > deadline:
            return mine["error"] or before or "waits for its turn"
        time.sleep(PAUSE_SECONDS)


NOT_SET_UP = "no tracker is set up"


def deliver(
    workspace: Workspace,
    writer: Writer,
    settings: Mapping[str, Any],
    now: int,
    *,
    current: str = "",
    first: str = "",
) -> list[Delivery]:
    """Try everything that waits for a tracker and is due. `current` is the issue that is worked on:
    `.ccc-state.json` holds the id of its comment, not of another that was late."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    pauses: dict[str, int] = {}

    def handle(effect: Effect) -> None:
        try:
            _refuse_unknown(workspace, effect, current)
            receipt = _upsert(workspace, writer, effect, settings, deadline, now)
            reached("before storing the comment")
            if current in ("", effect["key"]):
                store_comment(workspace, receipt["comment"], effect["key"])
            reached("after storing the comment")
        except HoldfastError as error:
            wanted = int((getattr(error, "retry_after", 0) or 0) * 1000)
            if wanted > outbox.pause_after(effect["attempts"] + 1):
                pauses[effect["id"]] = wanted
            raise

    done = outbox.deliver(
        workspace.journal,
        {rules.TRACKER: handle},
        now,
        redactor=writer.redactor,
        seconds=PATIENCE_SECONDS,
        first=first,
    )
    for delivery in done:
        # A tracker that says when to come back is not asked before.
        if delivery["id"] in pauses:
            due = clock.precise(now + pauses[delivery["id"]])
            workspace.journal.settle(delivery["id"], error=delivery["error"], due_at=due)
    return done


def _refuse_unknown(workspace: Workspace, effect: Effect, current: str) -> None:
    """A journal can come with an archive, in its `.git` folder. What waits in it is sent only for an issue
    that a checkpoint of this user was about, in this clone. A server's journal was trusted by address."""
    issue = effect["key"]
    if workspace.url or issue == current or is_known_here(workspace, ISSUE + issue):
        return
    raise NotAllowed(
        f"no checkpoint of yours was about {issue} here",
        hint=f"If it is your issue: holdfast checkpoint --issue {quote(issue)}",
        kind="unknown_issue",
    )


def deliver_all(
    workspace: Workspace, writer: Writer, settings: Mapping[str, Any], now: int
) -> list[Delivery]:
    """Try everything that waits: a person who asks is a turn."""
    for effect in workspace.journal.effects(kinds=[rules.TRACKER]):
        if effect["due_at"] > clock.precise(now):
            error = effect["error"] or "begun and not finished"
            workspace.journal.settle(effect["id"], error=error, due_at=clock.precise(now))
    return deliver(workspace, writer, settings, now)


def _upsert(
    workspace: Workspace,
    writer: Writer,
    effect: Effect,
    settings: Mapping[str, Any],
    deadline: float,
    now: int,
) -> CommentReceipt:
    from holdfast.trackers.selection import tracker_for

    wish = effect["body"]
    issue = wish["issue"]
    tracker = tracker_for(issue, settings, os.environ, deadline=deadline)
    if tracker is None:
        raise NotSetUp(NOT_SET_UP)
    state = read_state(workspace)
    known = state.get(COMMENT) if state.get(COMMENT_ISSUE, issue) == issue else ""
    receipt = tracker.upsert(
        issue,
        wish["body"],
        comment=str(known or ""),
        key=f"{KEY}:{workspace.home}",
        deadline=deadline,
    )
    reached("after commenting")
    writer.execute(
        rules.stream_of(wish["session"]),
        {"do": "commented", "id": receipt["comment"], "issue": issue},
        actor="holdfast",
        now=now,
    )
    return receipt
