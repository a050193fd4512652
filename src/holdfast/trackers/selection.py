"""Which tracker an issue belongs to, and where its key comes from: the environment, or a command that
prints it. Never a file of ours."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.kernel.config import variable_of
from holdfast.kernel.errors import Usage
from holdfast.trackers import GITHUB_VARIABLES, LINEAR_VARIABLES, github
from holdfast.trackers.http import Key, checked_url, is_loopback
from holdfast.trackers.linear import ADDRESS, Linear
from holdfast.trackers.port import (
    AUTHENTICATION,
    REFUSED,
    Tracker,
    TrackerError,
    check_issue,
    repository_and_number,
)

COMMAND_SECONDS = 3.0
KINDS = ("auto", "linear", "github", "none")


def find_key(
    variables: Sequence[str],
    environment: Mapping[str, str],
    command: str = "",
    deadline: float | None = None,
) -> Key | None:
    """The first variable that is set, else what the command prints; nothing when there is neither.

    A command that fails is an error and no missing key: a key was expected from it.
    """
    for variable in variables:
        key = Key(environment.get(variable, "").strip())
        if key:
            return key.check()
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise _command_failed(f"is not well formed: {error}") from None
    if not words:
        return None
    seconds = COMMAND_SECONDS
    if deadline is not None:
        seconds = min(seconds, deadline - time.monotonic())
    key = Key(_first_line(words, environment, seconds))
    if not key:
        raise _command_failed("printed nothing")
    return key.check()


def _first_line(words: list[str], environment: Mapping[str, str], seconds: float) -> str:
    try:
        # In a session of its own, so that no child of the command outlives the time limit. What it
        # says on stderr is dropped: the secret may be in it.
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise _command_failed(f"cannot start: {getattr(error, 'strerror', error)}") from None
    with process:
        try:
            output, _ = process.communicate(timeout=max(seconds, 0))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise _command_failed("took too long") from None
    if process.returncode:
        raise _command_failed(f"ended with code {process.returncode}")
    lines = output.decode("utf-8", "replace").splitlines()
    return lines[0].strip() if lines else ""


def _command_failed(reason: str) -> TrackerError:
    return TrackerError(
        f"the key command {reason}",
        kind=AUTHENTICATION,
        hint="Run the command of tracker.key_command by hand.",
    )


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
        address = _address("tracker.linear_url", ADDRESS, settings, environment)
        key = _key(LINEAR_VARIABLES, settings, environment, deadline)
        return Linear(key, address) if key else None
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

    A settings file is committed, and a person who may change it must not be able to have the keys of
    all who check it out sent to a host of their choice.
    """
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
) -> Key | None:
    own = str(settings.get("tracker.key_variable") or "")
    command = str(settings.get("tracker.key_command") or "")
    return find_key((own, *variables) if own else variables, environment, command, deadline)
