"""What `doctor` checks of clients: whether their hooks are ours, can start, and really run."""

from __future__ import annotations

from holdfast.clients import launcher
from holdfast.clients.condition import HookRuns, conditions
from holdfast.clients.installation import install, server
from holdfast.kernel import clock, failures
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.text import plural
from holdfast.kernel.workspace import Workspace
from holdfast.pack.handover_text import how_long
from holdfast.parts import Check, accept, fail, warn
from holdfast.processes.distribution import FOREIGN, NAME, find_foreign_package
from holdfast.version import __version__


def check_clients(
    workspace: Workspace, runs: list[HookRuns], now: int, *, fix: bool
) -> list[Check]:
    """The checks of the hooks in the clients' settings, and of the package that they start."""
    started = _check_launcher(fix) if runs else []
    settings = _check_settings(workspace, fix)
    return [*started, settings, *(_check_runs(one, now) for one in runs), _check_package()]


def check_failures(workspace: Workspace, fix: bool) -> Check:
    """Hooks that ran and failed."""
    failed = failures.read(workspace)
    if not failed:
        return accept("hooks", "No hook failed")
    if fix:
        failures.forget(workspace)
        return accept("hooks", "No hook failed", fixed=f"{len(failed)} taken note of")
    last = failed[-1]
    return warn(
        "hooks",
        f"{plural(len(failed), 'hook')} failed; last {last['hook']} at {last['at']}: {last['reason']}",
        why="A hook never stops its agent, so this is where it says why.",
        fix="Mend the cause, then holdfast doctor --fix",
    )


def _check_launcher(fix: bool) -> list[Check]:
    """The launcher of the hooks, and what it could not start. Both belong to the user: what failed in
    another project is named here as well."""
    problem, failed = launcher.problem(), launcher.failures()
    fine = "Hooks can be started"
    if fix:
        done = ["The launcher starts this holdfast"] if launcher.install() else []
        if failed:
            done.append(f"{launcher.forget_failures()} taken note of")
        return [accept("launcher", fine, fixed="; ".join(done))]
    found = []
    if problem:
        why = "Clients go on without it, and nothing is recorded."
        found.append(fail("launcher", problem, why=why, fix="holdfast doctor --fix"))
    if failed:
        last = failed[0]
        found.append(
            warn(
                "launcher",
                f"{plural(len(failed), 'hook')} could not be started; last {last['hook']} at "
                f"{clock.precise(last['at'])} in {last['folder'] or 'an unknown folder'}: {last['reason']}",
                why="The client went on without them, and nothing was recorded.",
                fix="holdfast doctor --fix",
            )
        )
    return found or [accept("launcher", fine)]


def _check_settings(workspace: Workspace, fix: bool) -> Check:
    """Whether the hooks in the clients' settings are those of this holdfast."""
    found, fixed = conditions(workspace, server()), ""
    wrong = [one for one in found if one["problem"]]
    if wrong and fix:
        try:
            install(workspace, [one["client"] for one in wrong], server())
            fixed = f"written again for {', '.join(one['client'] for one in wrong)}"
            found = conditions(workspace, server())
            wrong = [one for one in found if one["problem"]]
        except HoldfastError as error:
            wrong[0]["problem"], wrong[0]["why"] = error.message, ""
    if not wrong:
        names = ", ".join(one["client"] for one in found)
        what = (
            f"This holdfast is in the settings of {names}" if names else "No client calls holdfast"
        )
        return accept("clients", what, fixed=fixed)
    again = " ".join(f"--client {one['client']}" for one in wrong)
    complain = fail if any(one["broken"] for one in wrong) else warn
    return complain(
        "clients",
        " ".join(one["problem"] for one in wrong),
        why=" ".join(dict.fromkeys(one["why"] for one in wrong)),
        fix=f"holdfast init {again}",
    )


def _check_runs(run: HookRuns, now: int) -> Check:
    """When each event of a client last came in."""
    id = f"{run['client']} hooks"
    if run["problem"]:
        return warn(
            id,
            run["problem"],
            why="A hook that does not run records nothing and holds no limit.",
            fix=run["fix"],
        )
    name = f"{run['client']} {run['version']}".strip()
    if not any(run["events"].values()):
        return accept(id, f"{name}: no session since `init`")
    told = ", ".join(
        f"{event} {f'{how_long(max(0, now - clock.parse(at)))} ago' if at else 'never'}"
        for event, at in run["events"].items()
    )
    return accept(id, f"{name}: {told}")


def _check_package() -> Check:
    """Another project's package has our import name: the two overwrite each other's files."""
    foreign = find_foreign_package()
    if foreign:
        return fail(
            "package",
            f"Another project's package `{FOREIGN}` is installed here: {foreign}",
            why=f"It has the same import name. This project is {NAME}.",
            fix=f"pip uninstall {FOREIGN}, then pip install --force-reinstall {NAME}",
        )
    return accept("package", f"{NAME} {__version__}")
