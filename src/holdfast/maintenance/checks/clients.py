"""What `doctor` checks of clients: whether their hooks are ours, can start, and really run."""

from __future__ import annotations

from holdfast.clients import launcher
from holdfast.clients.condition import conditions
from holdfast.clients.installation import install, server
from holdfast.kernel import clock, failures
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.text import plural
from holdfast.maintenance.checks import new_check
from holdfast.processes.distribution import FOREIGN, NAME, find_foreign_package
from holdfast.session.handover_text import how_long
from holdfast.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from holdfast.clients.condition import Condition, HookRuns
    from holdfast.kernel.workspace import Workspace
    from holdfast.maintenance.checks import Check


def check_clients(
    workspace: Workspace, runs: list[HookRuns], now: int, *, fix: bool
) -> list[Check]:
    """The checks of the hooks in the clients' settings, and of the package that they start."""
    started = _launcher(fix) if runs else []
    settings = _clients(workspace, fix)
    return [*started, settings, *(_runs(one, now) for one in runs), _package()]


def check_failures(workspace: Workspace, fix: bool) -> Check:
    """Hooks that ran and failed."""
    failed = failures.read(workspace)
    if not failed:
        return new_check("hooks", "No hook failed")
    if fix:
        failures.forget(workspace)
        return new_check("hooks", "No hook failed", fixed=f"{len(failed)} taken note of")
    last = failed[-1]
    return new_check(
        "hooks",
        f"{plural(len(failed), 'hook')} failed; last {last['hook']} at {last['at']}: {last['reason']}",
        status="warning",
        why="A hook never stops its agent, so this is where it says why.",
        fix="Mend the cause, then holdfast doctor --fix",
    )


def _launcher(fix: bool) -> list[Check]:
    """The launcher of the hooks, and what it could not start. Both belong to the user: what failed in
    another project is named here as well."""
    problem, failed = launcher.problem(), launcher.failures()
    done = ""
    if fix:
        if launcher.install():
            done = "The launcher starts this holdfast"
        if failed:
            done = f"{done}; " if done else ""
            done += f"{launcher.forget_failures()} taken note of"
        return [new_check("launcher", "Hooks can be started", fixed=done)]
    found = []
    if problem:
        found.append(
            new_check(
                "launcher",
                problem,
                status="problem",
                why="Clients go on without it, and nothing is recorded.",
                fix="holdfast doctor --fix",
            )
        )
    if failed:
        last = failed[0]
        found.append(
            new_check(
                "launcher",
                f"{plural(len(failed), 'hook')} could not be started; last {last['hook']} at "
                f"{clock.precise(last['at'])} in {last['folder'] or 'an unknown folder'}: {last['reason']}",
                status="warning",
                why="The client went on without them, and nothing was recorded.",
                fix="holdfast doctor --fix",
            )
        )
    return found or [new_check("launcher", "Hooks can be started")]


def _clients(workspace: Workspace, fix: bool) -> Check:
    """Whether the hooks in the clients' settings are those of this holdfast."""
    wrong = [one for one in conditions(workspace, server()) if one["problem"]]
    fixed = ""
    if wrong and fix:
        try:
            install(workspace, [one["client"] for one in wrong], server())
            fixed = f"written anew for {', '.join(one['client'] for one in wrong)}"
        except HoldfastError as error:
            wrong[0]["problem"], wrong[0]["why"] = error.message, ""
    installed = conditions(workspace, server())
    if not wrong or (fixed and not any(one["problem"] for one in installed)):
        names = ", ".join(one["client"] for one in installed)
        what = (
            f"This holdfast is in the settings of {names}" if names else "No client calls holdfast"
        )
        return new_check("clients", what, fixed=fixed)
    again = " ".join(f"--client {one['client']}" for one in wrong)
    return new_check(
        "clients",
        " ".join(one["problem"] for one in wrong),
        status=_worst(wrong),
        why=" ".join(dict.fromkeys(one["why"] for one in wrong)),
        fix=f"holdfast init {again}",
    )


def _runs(run: HookRuns, now: int) -> Check:
    """When each event of a client last came in."""
    id = f"{run['client']} hooks"
    if run["problem"]:
        return new_check(
            id,
            run["problem"],
            status="warning",
            why="A hook that does not run records nothing and holds no limit.",
            fix=run["fix"],
        )
    name = f"{run['client']} {run['version']}".strip()
    if not any(run["events"].values()):
        return new_check(id, f"{name}: no session since `init`")
    told = ", ".join(
        f"{event} {f'{how_long(max(0, now - clock.parse(at)))} ago' if at else 'never'}"
        for event, at in run["events"].items()
    )
    return new_check(id, f"{name}: {told}")


def _worst(wrong: list[Condition]) -> Literal["warning", "problem"]:
    return "problem" if any(one["broken"] for one in wrong) else "warning"


def _package() -> Check:
    """Another project's package has our import name: the two overwrite each other's files."""
    foreign = find_foreign_package()
    if foreign:
        return new_check(
            "package",
            f"Another project's package `{FOREIGN}` is installed here: {foreign}",
            status="problem",
            why=f"It has the same import name. This project is {NAME}.",
            fix=f"pip uninstall {FOREIGN}, then pip install --force-reinstall {NAME}",
        )
    return new_check("package", f"{NAME} {__version__}")
