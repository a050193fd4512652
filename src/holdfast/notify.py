"""Notifications to people through apprise, which is the extra `notify`."""

from __future__ import annotations

from holdfast.kernel.errors import HoldfastError
from holdfast.processes.distribution import install_command


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
