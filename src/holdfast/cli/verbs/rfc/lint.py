"""holdfast rfc lint"""

from __future__ import annotations

import os

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.rfcs import which
from holdfast.cli.terminal import plural, safe, style
from holdfast.rfc.linting import lint, lint_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.rfc.rules.lint import Remark


@click.command()
@click.argument("what", required=False, metavar="[ID | FILE]")
@click.option("--lenient", is_flag=True, help="Too few bullets are a warning, not an error.")
@verb
def command(call: Call, what: str | None, lenient: bool) -> Reply:
    """What is wrong with a checkpoint, as path:line: message; ends with 1 when there is an error.

    An ID means its checkpoint.md and state.json, a FILE any checkpoint of yours.
    """
    if what and (os.sep in what or os.path.isfile(what)):
        remarks = lint_file(what, lenient=lenient)
    else:
        remarks = lint(call.workspace, which(call, what), lenient=lenient)
    errors = [remark for remark in remarks if remark["severity"] == "error"]
    lines = [_line(remark) for remark in remarks]
    if not errors:
        lines.append(style("No errors.", "green"))
    else:
        lines.append(style(plural(len(errors), "error") + ".", "red"))
    return Reply({"remarks": remarks}, lines, exit_code=1 if errors else 0)


def _line(remark: Remark) -> str:
    word = style("warning: ", "yellow") if remark["severity"] == "warning" else ""
    place = style(safe(f"{remark['path']}:{remark['line']}:"), bold=True)
    return f"{place} {word}{safe(remark['message'])}"
