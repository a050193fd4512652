"""How much of their vendors' usage limits the clients have used, and when each limit is reset.

The limits are the account's, so that the newest reading of any session holds for all sessions of its client.
Claude Code tells them in its status line and in the mod's measurements, Codex in its rollout.
"""

from __future__ import annotations

import os

from holdfast.clients.table import title_of
from holdfast.clients.usage.tally import FILE, open_tally
from holdfast.kernel import clock
from holdfast.usage.usage_limits import local_time, span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypedDict

    from holdfast.clients.usage.model import Quota, QuotaReading
    from holdfast.clients.usage.tally import Tally
    from holdfast.kernel.workspace import Workspace

    class ClientQuota(TypedDict):
        """One limit of one client. `at`: when the client told it; `resets_at` is empty where it gave no time."""

        client: str
        name: str
        percent: float
        resets_at: str
        at: str


FULL = 100.0
# A reading without a reset, and one of a client that was not used since, says so much for so long.
HOLDS = 5 * clock.HOUR
# An older reading is shown with its age.
FRESH = 10 * clock.MINUTE


def list_quotas(workspace: Workspace, now: int) -> list[ClientQuota]:
    """The limits that are not reset yet, of all clients that told any; the fullest first."""
    if not os.path.exists(os.path.join(workspace.home, FILE)):
        return []
    with open_tally(workspace.home) as tally:
        newest = newest_readings(tally)
    found = [one for client in newest for one in still_held(client, newest[client], now)]
    return sorted(found, key=lambda one: (-one["percent"], one["client"], one["name"]))


def newest_readings(tally: Tally) -> dict[str, QuotaReading]:
    """The newest reading of each client."""
    found: dict[str, QuotaReading] = {}
    for client, reading in tally.quota_readings():
        if client not in found or reading["at"] >= found[client]["at"]:
            found[client] = reading
    return found


def still_held(client: str, reading: QuotaReading, now: int) -> list[ClientQuota]:
    """The limits of a reading that hold: a limit that was reset since has begun anew."""
    return [
        {"client": client, **quota, "at": reading["at"]}
        for quota in reading["quotas"]
        if _ends(quota, reading["at"]) > now
    ]


def _ends(quota: Quota, at: str) -> int:
    try:
        return clock.parse(quota["resets_at"]) if quota["resets_at"] else clock.parse(at) + HOLDS
    except ValueError:
        return 0


def fullest(quotas: Iterable[ClientQuota]) -> ClientQuota | None:
    """The limit that is reached first; None where none is known."""
    return max(quotas, key=lambda one: one["percent"], default=None)


def is_same_reset(one: str, other: str) -> bool:
    """Whether two readings mean the same reset. A client that counts the seconds until then is off by some."""
    try:
        return one == other or abs(clock.parse(one) - clock.parse(other)) < FRESH
    except ValueError:
        return False


def describe(one: ClientQuota, now: int) -> str:
    """`5-hour limit 82 % used, resets 14:00`; an older reading with its age."""
    said = f"{one['name']} limit {int(one['percent'])} % used"
    if one["resets_at"]:
        said += f", resets {local_time(one['resets_at'])}"
    age = now - clock.parse(one["at"])
    return f"{said} (seen {span(age)} ago)" if age > FRESH else said


def describe_all(quotas: Iterable[ClientQuota], now: int) -> list[list[str]]:
    """A row a client: its title, and its limits in one line."""
    lines: dict[str, list[str]] = {}
    for one in quotas:
        lines.setdefault(title_of(one["client"]), []).append(describe(one, now))
    return [[title, "; ".join(said)] for title, said in lines.items()]
