"""holdfast rfc lint"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import plural, safe, style
from holdfast.rfc.lint import Remark, lint


@click.command()
@click.argument("what", required=False, metavar="[ID | FILE]")
@click.option("--lenient", is_flag=True, help="Too few bullets are a warning, not an error.")
@verb
def command(call: Call, what: str | None, lenient: bool) -> Reply:
    """Check a checkpoint against the protocol. Prints path:line: message; exits with 1 on an error.

    An ID stands for its checkpoint.md and state.json, a FILE for any checkpoint.
    """
    remarks = lint(call.workspace, what or "", lenient=lenient)
    errors = [remark for remark in remarks if remark["severity"] == "error"]
    end = (
        style(f"{plural(len(errors), 'error')}.", "red") if errors else style("No errors.", "green")
    )
    lines = [*(_line(remark) for remark in remarks), end]
    return Reply({"remarks": remarks}, lines, exit_code=1 if errors else 0)


def _line(remark: Remark) -> str:
    word = style("warning: ", "yellow") if remark["severity"] == "warning" else ""
    place = style(safe(f"{remark['path']}:{remark['line']}:"), bold=True)
    return f"{place} {word}{safe(remark['message'])}"
