"""Telling people that a gate waits: once a gate and interval, through the outbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import notify
from holdfast.gates import lookup
from holdfast.gates.rules import gate as rules
from holdfast.kernel import clock, config, outbox
from holdfast.kernel.errors import HoldfastError
from holdfast.streams import open_writer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from holdfast.gates.rules.gate import GateState
    from holdfast.journal.interface import Effect
    from holdfast.kernel.outbox import Delivery
    from holdfast.kernel.workspace import Workspace

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
        if rules.notice_is_due(state, interval, now):
            command = {"do": "notify", "interval": interval, "addresses": len(urls)}
            writer.execute(rules.stream_of(state["id"]), command, actor="holdfast", now=now)

    def send(effect: Effect) -> None:
        body = effect["body"]
        if not _still_waits(workspace, body["gate"]) or body["address"] >= len(urls):
            return
        again = "still " if body["number"] > 1 else ""
        text = f"{body['title']}\n\nholdfast gate show {body['gate']}{link_to(settings, 'needs')}"
        notify.send(urls[body["address"]], f"Holdfast: a gate {again}waits for you", text)

    return outbox.deliver(
        workspace.journal,
        {rules.NOTICE: send},
        now,
        redactor=writer.redactor,
        seconds=PATIENCE_SECONDS,
    )


TAMPERED = "Holdfast: a stop or an alert was tampered with"


def link_to(settings: dict[str, Any], part: str) -> str:
    """The last line of a notice: where the page shows what waits. Empty without a page's address."""
    page = str(settings["notify.page"]).rstrip("/")
    return f"\n{page}/board#{part}" if page else ""


def tell_people(
    workspace: Workspace, text: str, *, now: int, title: str = TAMPERED, part: str = "needs"
) -> bool:
    """One notice to every address, now or not at all: what it says stands in `holdfast status`, too, and
    in `part` of the board. False when there are addresses and no one of them took it."""
    journal = workspace.journal if workspace.exists() else None
    settings = config.load(workspace, journal)
    urls = settings["notify.urls"].split()
    text += link_to(settings, part)
    taken = 0
    for url in urls:
        try:
            notify.send(url, title, text)
            taken += 1
        except HoldfastError:
            continue
    return bool(taken) or not urls


def _still_waits(workspace: Workspace, id: str) -> bool:
    try:
        return rules.is_open(lookup.read(workspace, id))
    except HoldfastError:
        return False
