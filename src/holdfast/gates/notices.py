"""Notifications to people through apprise, which is the extra `notify`: a gate waits, once for each gate and
interval, by the outbox; or a stop was tampered with, at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.gates import lookup
from holdfast.gates.rules import gate as rules
from holdfast.kernel import clock, config, outbox
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.text import quote
from holdfast.processes.distribution import install_command
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
TAMPERED = "Holdfast: a stop or an alert was tampered with"


class NotifyError(HoldfastError):
    """A notification that could not be sent."""

    kind = "not_notified"


def send(address: str, title: str, text: str) -> None:
    """Send one text to one service. An address is a secret: only its kind is ever named."""
    try:
        import apprise
    except ImportError:
        raise NotifyError(
            "Notifications need the package apprise.", hint=install_command("notify")
        ) from None
    service = apprise.Apprise()
    kind = address.partition("://")[0] if "://" in address else "?"
    if not service.add(address):
        raise NotifyError(f"An address of notify.urls ({kind}) is not understood.")
    if not service.notify(title=title, body=text, body_format=apprise.NotifyFormat.TEXT):
        raise NotifyError(f"The service of an address in notify.urls ({kind}) did not take it.")


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

    return outbox.deliver(
        workspace.journal,
        {rules.NOTICE: send_notice},
        now,
        redactor=writer.redactor,
        seconds=PATIENCE_SECONDS,
    )


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
            send(url, title, text)
            taken += 1
        except HoldfastError:
            continue
    return bool(taken) or not urls


def _is_waiting(workspace: Workspace, id: str) -> bool:
    try:
        return rules.is_open(lookup.read(workspace, id))
    except HoldfastError:
        return False
