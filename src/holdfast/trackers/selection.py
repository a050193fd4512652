"""Which tracker an issue belongs to, and whether there is a key for it."""

from __future__ import annotations

from holdfast.kernel.config import variable_of
from holdfast.kernel.errors import Usage
from holdfast.trackers import GITHUB_VARIABLES, LINEAR_VARIABLES, keys
from holdfast.trackers.issues import check_issue, repository_and_number
from holdfast.trackers.port import REFUSED, TrackerError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from holdfast.trackers.port import Tracker

__all__ = ["KINDS", "check_issue", "tracker_for"]

KINDS = ("auto", "linear", "github", "none")


def tracker_for(
    issue: str,
    settings: Mapping[str, Any],
    environment: Mapping[str, str],
    *,
    deadline: float | None = None,
) -> Tracker | None:
    """The tracker of this issue, or nothing when none is set up: no issue, no key, or `none`.

    Raises Usage for what is not an issue, and TrackerError when the key command fails. `deadline`
    (of `time.monotonic()`) bounds that command; without one it has three seconds.
    """
    kind = _kind(issue, settings)
    if kind == "none":
        return None
    if kind == "linear":
        from holdfast.trackers.linear import ADDRESS, Linear

        address = _address("tracker.linear_url", ADDRESS, settings, environment)
        key = _key(LINEAR_VARIABLES, settings, environment, deadline)
        return Linear(key, address) if key else None
    from holdfast.trackers import github

    address = _address("tracker.github_url", github.ADDRESS, settings, environment)
    key = _key(GITHUB_VARIABLES, settings, environment, deadline)
    if key is None:
        return None
    repository = str(settings.get("tracker.github_repository") or "")
    repository_and_number(issue, repository)
    return github.GitHub(key, repository, address)


def _kind(issue: str, settings: Mapping[str, Any]) -> str:
    wanted = str(settings.get("tracker.kind") or "auto")
    if wanted not in KINDS:
        raise Usage(
            f"tracker.kind is {wanted[:40]!a}.",
            hint=f"It is one of {', '.join(KINDS)}.",
            kind="bad_config",
        )
    if not issue or wanted == "none":
        return "none"
    shape = check_issue(issue)
    if wanted not in ("auto", shape):
        raise Usage(
            f"{issue} is not an issue of {wanted}, which tracker.kind asks for.", kind="bad_issue"
        )
    return shape


def _address(
    setting: str, usual: str, settings: Mapping[str, Any], environment: Mapping[str, str]
) -> str:
    """Where to send the key: to the vendor, to this machine, or where the user's own shell says.

    A settings file is committed, and whoever may change it must not be able to have the keys of
    all who check it out sent to a host of their choice.
    """
    from holdfast.trackers.route import checked_url, is_loopback

    address = str(settings.get(setting) or usual)
    parts, variable = checked_url(address), variable_of(setting)
    own = environment.get(variable) == address
    if (
        not own
        and parts.hostname != checked_url(usual).hostname
        and not is_loopback(parts.hostname)
    ):
        raise TrackerError(
            f"{setting} names another host than the vendor's",
            kind=REFUSED,
            hint=f"If you trust it with your key, set {variable}={address} in your environment.",
        )
    return address


def _key(
    variables: tuple[str, ...],
    settings: Mapping[str, Any],
    environment: Mapping[str, str],
    deadline: float | None,
) -> keys.Key | None:
    own = str(settings.get("tracker.key_variable") or "")
    command = settings.get("tracker.key_command") or ""
    return keys.find_key((own, *variables) if own else variables, environment, command, deadline)
