"""Whether our hooks work in each client: the settings start this holdfast, and events have come.

`conditions` reads the settings files. `hook_runs` compares the client's own sessions with the last event of
each hook, and knows the client's version and what it asks of its user first.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TypedDict

from holdfast.clients.discovery import sessions_in
from holdfast.clients.events import last_times
from holdfast.clients.installation import has_server, installer_of, parts_of
from holdfast.clients.launcher import number_of
from holdfast.clients.settings import files
from holdfast.clients.settings.files import Part
from holdfast.clients.settings.parts import JsonPart
from holdfast.clients.table import CLIENTS, NAMES, capability
from holdfast.kernel import clock
from holdfast.kernel.canonical_json import read_table, text_of
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.text import plural
from holdfast.kernel.workspace import Workspace
from holdfast.processes.child import find_program
from holdfast.registry import SETTINGS, Attention


class Condition(TypedDict):
    """A client with something of ours in its settings. `problem` is empty when all is as `init`
    would write it now, and `why` says what follows from it; `broken`: its hooks cannot even be
    started."""

    client: str
    problem: str
    why: str
    broken: bool


class HookRuns(TypedDict):
    """One client with our hooks. `events` has each event's last time, empty when it never came;
    `version` is empty where it cannot be told. `problem` says why hooks do not run, `fix` what its
    user can do; both are empty when they run, or when there was no session yet."""

    client: str
    version: str
    installed_at: str
    events: dict[str, str]
    sessions: int
    problem: str
    fix: str


NOT_STARTED = "Hooks that cannot start do nothing, and report nothing."
# A client's transcript is written on after its last hook.
AFTER_THE_LAST = 5 * clock.MINUTE
RESTART = "Start {client} again in this project: a session that runs already takes no new hooks."


def conditions(workspace: Workspace, server: list[str]) -> list[Condition]:
    """Each client that has ours, by the worst of its files."""
    found: list[Condition] = []
    for client in NAMES:
        # The server is a choice of `init`: hooks work without it.
        words = server if has_server(workspace, client) else []
        worst = _worst(workspace, client, words)
        if worst is not None:
            found.append(worst)
    return found


def _worst(workspace: Workspace, client: str, server: list[str]) -> Condition | None:
    parts = parts_of(workspace, [client], server)[client]
    found = [one for part in parts if (one := _condition(client, part)) is not None]
    return max(found, key=lambda one: (one["broken"], bool(one["problem"])), default=None)


def clients_with_ours(workspace: Workspace, server: list[str]) -> list[str]:
    """The clients that `conditions` names, in its order, without a judgment of their files."""
    parts = parts_of(workspace, NAMES, server)
    # What cannot be read is a problem to be told.
    return [
        client
        for client, ours in parts.items()
        if any(files.has_ours(one, if_unreadable=True) for one in ours)
    ]


def _condition(client: str, part: Part) -> Condition | None:
    """None: nothing of ours is in the file."""
    path = os.path.realpath(part.path)
    try:
        text = files.read(path)
        if text is None or not part.has_ours(text):
            return None
        gone = [program for program in part.programs(text) if not os.path.exists(program)]
        is_current = part.put(text)["text"] == text
        overridden = part.overrides(text) if isinstance(part, JsonPart) and not is_current else ""
        problem = f"{path} starts {gone[0]}, which is not there." if gone else ""
    except HoldfastError as error:
        problem = error.message
    if problem:
        return {"client": client, "problem": problem, "why": NOT_STARTED, "broken": True}
    why = ""
    if not is_current:
        problem = f"{path} starts another holdfast than this, or an older one's hooks."
        why = "The hooks may lack what this version does."
        if overridden:
            problem = f"Holdfast's status line in {path} overrides yours in {overridden}."
            why = "`init` takes Holdfast's out."
    return {"client": client, "problem": problem, "why": why, "broken": False}


def hook_runs(workspace: Workspace, server: list[str]) -> list[HookRuns]:
    """Each client whose settings have our hooks."""
    installed = clients_with_ours(workspace, server)
    times = last_times(workspace)
    sessions = sessions_in(workspace.root, enough=10) if installed else []
    found = []
    for client in installed:
        since = installed_at(workspace, client, server)
        active = [one["modified"] for one in sessions if one["client"] == client]
        active = [at for at in active if at > since]
        seen = times.get(client, {})
        run: HookRuns = {
            "client": client,
            "version": version_of(client),
            "installed_at": clock.precise(since) if since else "",
            "events": {
                event: clock.precise(seen[event]) if event in seen else ""
                for event in installer_of(client).EVENTS
            },
            "sessions": len(active),
            "problem": "",
            "fix": "",
        }
        _judge(run, workspace, max(seen.values(), default=0), max(active, default=0))
        found.append(run)
    return found


def _judge(run: HookRuns, workspace: Workspace, last: int, active: int) -> None:
    client = run["client"]
    oldest, review = CLIENTS[client].oldest, CLIENTS[client].review
    if run["version"] and number_of(run["version"]) < number_of(oldest):
        run["problem"] = f"{client} {run['version']} does not run all of these hooks."
        run["fix"] = f"Update it to {oldest} or newer."
    elif active and not last:
        times = plural(run["sessions"], "session")
        run["problem"] = f"{client} had {times} here since `init`, and none of its hooks ran."
    elif active > last + AFTER_THE_LAST and last:
        at = clock.precise(active)
        run["problem"] = (
            f"No hook of {client} ran since {clock.precise(last)}; it worked until {at}."
        )
    elif not last and review and not capability(client, "review").is_reviewed(workspace):
        run["problem"] = f"{client} runs no hook of this project before you have reviewed it."
    if run["problem"] and not run["fix"]:
        run["fix"] = review or RESTART.format(client=client)


def find_unreviewed(workspace: Workspace, now: int) -> Iterator[Attention]:
    """Return the clients that run none of our hooks before their user has reviewed them, and do not say so."""
    times = last_times(workspace)
    asking = [client for client in NAMES if CLIENTS[client].review and client not in times]
    for client, parts in parts_of(workspace, asking, []).items():
        if not any(files.has_ours(one, if_unreadable=False) for one in parts):
            continue
        if not capability(client, "review").is_reviewed(workspace):
            title = CLIENTS[client].title
            what = f"{title} runs no hook of this project before you have reviewed it"
            yield Attention(what, "holdfast doctor", SETTINGS)


def installed_at(workspace: Workspace, client: str, server: list[str]) -> int:
    """When `init` last wrote a client's hooks, in milliseconds; 0 when that is not known."""
    parts = parts_of(workspace, [client], server)[client]
    return max((files.kept_at(workspace, part.path) for part in parts), default=0)


def version_of(client: str) -> str:
    """The version of the client that would be started, by the files it came in. The client itself is not
    run: some call home when they are."""
    program = find_program(CLIENTS[client].start[0])
    path = os.path.realpath(program) if program else ""
    while len(path) > 1:
        name = os.path.basename(path)
        if name[:1].isdecimal() and len(number_of(name)) > 2:
            return name  # a folder, or the program itself, for each version
        path = os.path.dirname(path)
        if version := text_of(read_table(os.path.join(path, "package.json")).get("version")):
            return version
    return ""
