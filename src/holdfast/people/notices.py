"""Notifications to people through apprise, which is the extra `notify`."""

from __future__ import annotations

from holdfast.kernel import config
from holdfast.kernel.errors import HoldfastError
from holdfast.processes.distribution import install_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.kernel.workspace import Workspace

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


def link_to(settings: dict[str, Any], part: str) -> str:
    """The last line of a notice: a part of the board, or with a `/` in front a page of its own. Empty without a page's
    address."""
    page = str(settings["notify.page"]).rstrip("/")
    return f"\n{page}{part if part[:1] == '/' else f'/board#{part}'}" if page else ""


def tell_people(
    workspace: Workspace, text: str, *, now: int, title: str = TAMPERED, part: str = "needs"
) -> bool:
    """One notice to every address, now or not at all: what it says stands in `holdfast status`, too, and
    in `part` of the page. False when there are addresses and no one of them took it."""
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
