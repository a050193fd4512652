"""Check everything that can go wrong with a workspace. Each check says what, why, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from holdfast import registry
from holdfast.clients.condition import hook_runs
from holdfast.clients.installation import server
from holdfast.kernel import config, latch
from holdfast.kernel.errors import HoldfastError
from holdfast.maintenance.checks import journal, work_tree
from holdfast.maintenance.checks.clients import check_clients, check_failures
from holdfast.parts import Check, accept, fail, warn
from holdfast.session.ccc_files import list_unfollowed

if TYPE_CHECKING:
    from holdfast.clients.condition import HookRuns
    from holdfast.journal.interface import Refusal
    from holdfast.kernel.workspace import Workspace


class Diagnosis(TypedDict):
    """All checks, the writes that were refused and kept, and whether the hooks in each client's settings
    really run."""

    checks: list[Check]
    refused: list[Refusal]
    hooks: list[HookRuns]


def diagnose(workspace: Workspace, now: int, *, fix: bool = False) -> Diagnosis:
    """Check the workspace and the clients' settings."""
    checks = examine(workspace, now, fix=fix)
    about = ("address", "journal", "integrity", "chains")
    is_broken = any(one["id"] in about and one["status"] == "problem" for one in checks)
    refused = workspace.journal.refusals() if not is_broken and workspace.exists() else []
    runs = hook_runs(workspace, server())
    checks += check_clients(workspace, runs, now, fix=fix)
    return {"checks": checks, "refused": refused, "hooks": runs}


def examine(workspace: Workspace, now: int, *, fix: bool = False) -> list[Check]:
    """All checks, the most important first. `fix` repairs what can be repaired."""
    strange = work_tree.check_strange_files(workspace, now, fix)
    settings = _check_settings(workspace)
    if settings["status"] == "problem" and settings["id"] == "address":
        return [strange, settings]
    of_file = [] if workspace.url else [journal.check_sqlite(), journal.check_filesystem(workspace)]
    records = journal.check_records(workspace, now, fix=fix) if workspace.exists() else []
    checks = [*of_file, settings, strange, *records]
    is_readable = not records or records[-1]["status"] != "problem"
    if is_readable or not workspace.url:
        checks.append(journal.check_writable(workspace))
    if records and is_readable:
        checks += [
            journal.check_purge(workspace, now, fix),
            journal.check_lost(workspace, now, fix),
            *journal.check_server(workspace, now, fix),
            work_tree.check_asides(workspace, now, fix),
            journal.check_secrets(workspace, now, fix),
            work_tree.check_views(workspace, now, fix),
            work_tree.check_conflicts(workspace),
            work_tree.check_inboxes(workspace, now, fix),
            journal.check_refusals(workspace),
            journal.check_unknown(workspace),
            journal.check_outbox(workspace),
            journal.check_elsewhere(workspace),
            journal.check_origin(workspace),
            journal.check_leftovers(workspace, now, fix),
        ]
    if workspace.url:
        checks.append(journal.check_spool(workspace, now))
    for feature in registry.all_features():
        checks += [registry.load(name)(workspace, now, fix) for name in feature.checks]
    return [
        *checks,
        journal.check_lock(workspace),
        _check_latch(workspace),
        work_tree.check_committed(workspace),
        work_tree.check_ignored(workspace, fix),
        work_tree.check_exchange(workspace),
        work_tree.check_quarantine(workspace),
        check_failures(workspace, fix),
    ]


def _check_settings(workspace: Workspace) -> Check:
    try:
        _ = workspace.url
    except HoldfastError as error:
        return fail(
            "address", error.message, why="Where the journal is cannot be told.", fix=error.hint
        )
    try:
        config.load(workspace)
    except HoldfastError as error:
        return fail(
            "settings",
            error.message,
            why="No command that writes works until it is right.",
            fix=error.hint,
        )
    untrusted = config.untrusted_in(workspace, config.from_file(workspace, None))
    fix = "Look at them: holdfast trust --show. Then, if they are right: holdfast trust"
    if untrusted:
        return warn(
            "settings",
            f"Settings that do not count until a person trusts them: {', '.join(sorted(untrusted))}",
            why="They came with the repository and name commands, places, variables or rules.",
            fix=fix,
        )
    unfollowed = list_unfollowed(workspace)
    if unfollowed:
        return warn(
            "settings",
            f"Files that are not followed until a person trusts them: {', '.join(unfollowed)}",
            why="They came with the repository and name the issue that is commented on with your key.",
            fix=fix,
        )
    return accept("settings", "Settings are readable")


def _check_latch(workspace: Workspace) -> Check:
    stopped = latch.read(workspace)
    if stopped is None:
        return accept("latch", "No stop is set")
    return warn(
        "latch",
        f"Stopped: {stopped['reason']}",
        why=f"Set by {stopped['by'] or 'an unknown user'} at {stopped['at'] or 'an unknown time'}.",
    )
