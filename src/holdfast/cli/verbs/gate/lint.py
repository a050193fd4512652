"""holdfast gate lint"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.gates import text_of
from holdfast.cli.parser import verb
from holdfast.cli.terminal import plural, safe, style
from holdfast.gates.rules.lint import lint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.gates.rules.lint import GateFinding


@click.command()
@click.argument("file", default="-")
@click.option("--strict", is_flag=True, help="Treat the short form of a decision as an error.")
@verb
def command(call: Call, file: str, strict: bool) -> Reply:
    """Check the text of FILE, or the tasks in it, for work that a machine can do.

    Finds requests to run a command, start a server, create a file or data, or set up a database, and
    open questions without options. Says what to do instead. Without FILE, reads standard input. Exits
    with 1 when there is an error.
    """
    found = lint(text_of(file), strict=strict)
    errors = [one for one in found if one["level"] == "error"]
    data = {"findings": found, "errors": len(errors), "warnings": len(found) - len(errors)}
    return Reply(data, _lines(found, len(errors)), exit_code=1 if errors else 0)


def _lines(found: list[GateFinding], errors: int) -> Iterator[str]:
    for one in found:
        colour = "red" if one["level"] == "error" else "yellow"
        head = style(f"{one['line']}: {one['level']}:", colour, bold=True)
        yield f"{head} {safe(one['what'])} ({one['clause']})"
        if one["instead"]:
            yield f"   {style('instead:', 'cyan')} {safe(one['instead'])}"
    if not found:
        yield style("Nothing that a machine could do is asked of a person.", "green")
    else:
        yield f"{plural(errors, 'error')}, {plural(len(found) - errors, 'warning')}."
