"""holdfast doctor"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import plural, safe, style
from holdfast.doctor import examine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.doctor import Check

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
    checks = examine(call.workspace, call.now, fix=fix)
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


def _is_readable(checks: list[Check]) -> bool:
    about = ("journal", "integrity", "chains")
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
