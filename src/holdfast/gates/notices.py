"""Tell people that a gate waits: once for each gate and interval, by the outbox."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.gates import lookup
from holdfast.gates.rules import gate as rules
from holdfast.gates.rules.gate import GateState
from holdfast.kernel import clock, config, outbox
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.streams import open_writer
from holdfast.kernel.text import quote
from holdfast.kernel.workspace import Workspace
from holdfast.people.notices import link_to, send

if TYPE_CHECKING:
    from holdfast.journal.interface import Effect
    from holdfast.kernel.outbox import Delivery


# An agent that asks a gate waits at most this long for the services.
PATIENCE_SECONDS = 5.0


def announce(workspace: Workspace, states: Sequence[GateState], *, now: int) -> list[Delivery]:
    """Send what is due for these gates, and what could not be sent before. Nothing of this can fail a
    gate: what went wrong is kept with the effect, and `holdfast status` names it."""
    if not workspace.exists() or workspace.journal.read_only:
        return []
    settings = config.load(workspace, workspace.journal)
    urls = settings["notify.urls"].split()
    if not urls:
        return []
    interval = int(settings["notify.remind_minutes"]) * clock.MINUTE
    writer = open_writer(workspace)
    for state in states:
        if rules.is_notice_due(state, interval, now):
            command = {"do": "notify", "interval": interval, "addresses": len(urls)}
            writer.execute(rules.stream_of(state["id"]), command, actor="holdfast", now=now)

    def send_notice(effect: Effect) -> None:
        body = effect["body"]
        if not _is_waiting(workspace, body["gate"]) or body["address"] >= len(urls):
            return
        again = "still " if body["number"] > 1 else ""
        text = f"{body['title']}\n\nholdfast gate show {quote(body['gate'])}{link_to(settings, 'needs')}"
        send(urls[body["address"]], f"Holdfast: a gate {again}waits for you", text)

    kinds, redactor = {rules.NOTICE: send_notice}, writer.redactor
    return outbox.deliver(
        workspace.journal, kinds, now, redactor=redactor, seconds=PATIENCE_SECONDS
    )


def _is_waiting(workspace: Workspace, id: str) -> bool:
    try:
        return rules.is_open(lookup.read(workspace, id))
    except HoldfastError:
        return False
