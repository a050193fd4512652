"""Where a run's tasks are carried out: this machine, or the scheduler at an address.

A program that reaches a Dask scheduler runs code as its owner, because tasks are pickled Python. So a plain
connection is for this machine alone, and every other needs certificates on both sides.
"""

from __future__ import annotations

import os
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

from holdfast.kernel.errors import Usage


class Certificates(NamedTuple):
    """Files: the CA to trust, our certificate, and its key. Empty: as Dask's own settings say."""

    ca: str = ""
    cert: str = ""
    key: str = ""


LOCAL = "local"
PLAIN, SECURE = "tcp", "tls"
PORT = 8786
FORM = "Such as tls://scheduler.example:8786, tcp://127.0.0.1:8786, or local."
SAFE = "docs/how-to/cluster.md shows how certificates are made."


def read(on: str, certificates: Certificates) -> str:
    """The scheduler's address; empty for this machine. What would let others run code is refused."""
    on = on.strip()
    if on in ("", LOCAL):
        if any(certificates):
            raise Usage("--tls-ca, --tls-cert and --tls-key are for --on tls://...", hint=FORM)
        return ""
    try:
        parts = urlsplit(on)
        host, port = parts.hostname or "", parts.port or PORT
    except ValueError:
        raise Usage(f"{on!r:.80} is no address of a scheduler.", hint=FORM) from None
    more = parts.path.strip("/") or parts.query or parts.fragment or parts.username
    if parts.scheme not in (PLAIN, SECURE) or not host or more:
        raise Usage(f"{on!r:.80} is no address of a scheduler.", hint=FORM)
    if parts.scheme == PLAIN and not is_this_machine(host):
        raise Usage(
            f"tcp:// to {host:.80} is refused: Dask carries pickled code, so a program that reaches the "
            "scheduler, or stands between, runs code as you.",
            hint=f"Use tls:// with certificates. {SAFE}",
            kind="not_encrypted",
        )
    _refuse_missing(parts.scheme, certificates)
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}:{port}"


def is_this_machine(host: str) -> bool:
    """By the name or the number alone: what a name server says may change."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _refuse_missing(scheme: str, certificates: Certificates) -> None:
    if scheme == PLAIN and any(certificates):
        raise Usage("--tls-ca, --tls-cert and --tls-key are for --on tls://...", hint=FORM)
    if any(certificates) and not all(certificates):
        raise Usage("--tls-ca, --tls-cert and --tls-key belong together: all three, or none.")
    for path in certificates:
        if path and not os.path.isfile(path):
            raise Usage(f"There is no file {path}.", hint=SAFE)
