"""holdfast doctor"""

from __future__ import annotations

from collections.abc import Iterator

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import ProgressLine, safe, style
from holdfast.kernel.text import plural
from holdfast.maintenance.doctor import diagnose
from holdfast.parts import Check

MARKS = {"ok": ("ok", "green"), "warning": ("look", "yellow"), "problem": ("BAD", "red")}


@click.command()
@click.option("--fix", is_flag=True, help="Repair what needs no decision of yours.")
@verb
def command(call: Call, fix: bool) -> Reply:
    """Check everything that can go wrong. Each finding says what it is, why it matters, what to do.

    The exit code is 1 when something is broken, and 0 when there are only warnings.
    """
    with ProgressLine("Checking", is_shown=not call.as_json):
        found = diagnose(call.workspace, call.now, fix=fix)
    checks = found["checks"]
    broken = any(check["status"] == "problem" for check in checks)
    fixable = any(check["fix"] == "holdfast doctor --fix" for check in checks)
    next = ["holdfast doctor --fix"] if fixable and not fix else []
    return Reply({**found}, _lines(checks), next=next, exit_code=1 if broken else 0)


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
