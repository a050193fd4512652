"""Check everything that can go wrong with a workspace. Each check says what, why, and what to do."""

from __future__ import annotations

from holdfast.clients.condition import hook_runs
from holdfast.clients.installation import server
from holdfast.kernel import config, latch
from holdfast.kernel.errors import HoldfastError
from holdfast.maintenance.checks import journal, new_check, work_tree
from holdfast.maintenance.checks.clients import check_clients, check_failures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from holdfast.clients.condition import HookRuns
    from holdfast.journal.interface import Refusal
    from holdfast.kernel.workspace import Workspace
    from holdfast.maintenance.checks import Check

    class Diagnosis(TypedDict):
        """All checks, and the writes that were refused and kept."""

        checks: list[Check]
        refused: list[Refusal]
        # Whether the hooks in each client's settings really run.
        hooks: list[HookRuns]


def diagnose(workspace: Workspace, now: int, *, fix: bool = False) -> Diagnosis:
    """Check the workspace and the clients' settings."""
    checks = examine(workspace, now, fix=fix)
    refused = workspace.journal.refusals() if _is_readable(checks) and workspace.exists() else []
    runs = hook_runs(workspace, server())
    checks += check_clients(workspace, runs, now, fix=fix)
    return {"checks": checks, "refused": refused, "hooks": runs}


def examine(workspace: Workspace, now: int, *, fix: bool = False) -> list[Check]:
    """All checks, the most important first. `fix` repairs what can be repaired."""
    strange = work_tree.check_strange_files(workspace, now, fix)
    settings = _settings(workspace)
    if settings["status"] == "problem" and settings["id"] == "address":
        return [strange, settings]
    checks = (
        [settings]
        if workspace.url
        else [journal.check_sqlite(), journal.check_filesystem(workspace), settings]
    )
    checks.append(strange)
    records = journal.check_records(workspace, now, fix=fix) if workspace.exists() else []
    checks += records
    is_readable = not records or records[-1]["status"] != "problem"
    if is_readable:
        checks.append(journal.check_writable(workspace))
    if records and is_readable:
        checks.append(journal.check_purge(workspace, now, fix))
        checks.append(journal.check_lost(workspace, now, fix))
        checks.append(work_tree.check_views(workspace, now, fix))
        checks.append(work_tree.check_conflicts(workspace))
        checks.append(work_tree.check_inboxes(workspace, now, fix))
        checks.append(journal.check_refusals(workspace))
        checks.append(journal.check_outbox(workspace))
        checks.append(journal.check_elsewhere(workspace))
        checks.append(journal.check_origin(workspace))
        checks.append(journal.check_leftovers(workspace, now, fix))
    if workspace.url:
        checks.append(journal.check_spool(workspace, now))
    checks.append(journal.check_lock(workspace))
    checks.append(_latch(workspace))
    checks.append(work_tree.check_committed(workspace))
    checks.append(work_tree.check_ignored(workspace, fix))
    checks.append(work_tree.check_exchange(workspace))
    checks.append(work_tree.check_quarantine(workspace))
    checks.append(check_failures(workspace, fix))
    return checks


def _settings(workspace: Workspace) -> Check:
    try:
        _ = workspace.url
    except HoldfastError as error:
        return new_check(
            "address",
            error.message,
            status="problem",
            why="Where the journal is cannot be told.",
            fix=error.hint,
        )
    try:
        config.load(workspace)
    except HoldfastError as error:
        return new_check(
            "settings",
            error.message,
            status="problem",
            why="No command that writes works until it is right.",
            fix=error.hint,
        )
    untrusted = config.untrusted_in(workspace, config.from_file(workspace, None))
    if untrusted:
        return new_check(
            "settings",
            f"Settings that do not count until a person trusts them: {', '.join(sorted(untrusted))}",
            status="warning",
            why="They came with the repository and name commands, places, variables or rules.",
            fix="Look at them: holdfast trust --show. Then, if they are right: holdfast trust",
        )
    return new_check("settings", "Settings are readable")


def _latch(workspace: Workspace) -> Check:
    stopped = latch.read(workspace)
    if stopped is None:
        return new_check("latch", "No stop is set")
    return new_check(
        "latch",
        f"Stopped: {stopped['reason']}",
        status="warning",
        why=f"Set by {stopped['by'] or 'an unknown user'} at {stopped['at'] or 'an unknown time'}.",
    )


def _is_readable(checks: list[Check]) -> bool:
    about = ("address", "journal", "integrity", "chains")
    return not any(check["id"] in about and check["status"] == "problem" for check in checks)
