"""holdfast doctor"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import plural, safe, style
from holdfast.clients.installation import server
from holdfast.clients.settings.condition import conditions
from holdfast.hooks.run import command as hook_command
from holdfast.maintenance.doctor import examine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from holdfast.clients.settings.condition import Condition
    from holdfast.maintenance.doctor import Check

MARKS = {"ok": ("ok", "green"), "warning": ("look", "yellow"), "problem": ("BAD", "red")}


@click.command()
@click.option(
    "--fix", is_flag=True, help="Repair what can be repaired without a decision of yours."
)
@verb
def command(call: Call, fix: bool) -> Reply:
    """Check everything that can go wrong: what it is, why it matters, what to do.

    Ends with exit code 1 when something is broken; warnings alone end with 0.
    """
    checks = [*examine(call.workspace, call.now, fix=fix), _clients(call)]
    refused = (
        call.workspace.journal.refusals()
        if _is_readable(checks) and call.workspace.exists()
        else []
    )
    broken = any(check["status"] == "problem" for check in checks)
    data = {"checks": checks, "refused": refused}
    fixable = any(check["fix"] == "holdfast doctor --fix" for check in checks)
    next = ["holdfast doctor --fix"] if fixable and not fix else []
    return Reply(data, _lines(checks), next=next, exit_code=1 if broken else 0)


def _clients(call: Call) -> Check:
    """Whether the hooks in clients' settings start what is here."""
    installed = conditions(call.workspace, hook_command, server())
    wrong = [one for one in installed if one["problem"]]
    names = ", ".join(one["client"] for one in installed)
    said = f"This holdfast is in the settings of {names}" if names else "No client calls holdfast"
    again = " ".join(f"--client {one['client']}" for one in wrong)
    return {
        "id": "clients",
        "status": _worst(wrong),
        "what": " ".join(one["problem"] for one in wrong) or said,
        "why": "Hooks that cannot start do nothing, and nobody is told." if wrong else "",
        "fix": f"holdfast init {again}" if wrong else "",
        "fixed": "",
    }


def _worst(wrong: list[Condition]) -> Literal["ok", "warning", "problem"]:
    if any(one["broken"] for one in wrong):
        return "problem"
    return "warning" if wrong else "ok"


def _is_readable(checks: list[Check]) -> bool:
    about = ("address", "journal", "integrity", "chains")
    return not any(check["id"] in about and check["status"] == "problem" for check in checks)


def _lines(checks: list[Check]) -> Iterator[str]:
    for check in checks:
        word, colour = MARKS[check["status"]]
        yield f"{style(f'{word:>4}', colour)}  {safe(check['what'])}"
        if check["fixed"]:
            yield f"      {style('fixed: ', 'green')}{safe(check['fixed'])}"
        if check["why"]:
            yield f"      why: {safe(check['why'])}"
        if check["fix"]:
            yield f"      fix: {safe(check['fix'])}"
    problems = sum(check["status"] == "problem" for check in checks)
    warnings = sum(check["status"] == "warning" for check in checks)
    yield ""
    if problems:
        yield style(f"{plural(problems, 'problem')}, {plural(warnings, 'warning')}.", "red")
    elif warnings:
        yield style(f"{plural(warnings, 'warning')}, nothing broken.", "yellow")
    else:
        yield style("All is well.", "green")
