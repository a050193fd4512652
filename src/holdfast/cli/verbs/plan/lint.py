"""holdfast plan lint"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import one_line, plural, safe, style
from holdfast.kernel import config
from holdfast.plans.discovery import AGENT_SETTING, documents, files
from holdfast.plans.rules.document import where
from holdfast.plans.rules.lint import findings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.plans.rules.model import PlanFinding


LONGEST = 4096


@click.command()
@click.argument("paths", nargs=-1)
@click.option("--strict", is_flag=True, help="Treat every warning as an error.")
@verb
def command(call: Call, paths: tuple[str, ...], strict: bool) -> Reply:
    """Check plan files, alone and together, and report all errors at once.

    Finds unknown fields, XML that is not closed, circular dependencies, dependencies on a later wave, a
    pause after a task that does not exist, plans of one wave that change the same files, and gates that
    ask people to do what a machine can do.

    PATHS are files and folders. Default: .autopilot/phases. Exits with 1 when there is an error.
    """
    meant = files(paths, call.folder, call.workspace.root)
    read = documents(meant, call.folder)
    agent = bool(config.load(call.workspace)[AGENT_SETTING].strip())
    found = findings(read, agent=agent, strict=strict)
    errors = sum(one["level"] == "error" for one in found)
    plans = [one["plan"]["id"] for one in read if one["plan"] is not None]
    data = {
        "findings": found,
        "errors": errors,
        "warnings": len(found) - errors,
        "files": [one["path"] for one in read],
        "plans": plans,
    }
    lines = _lines(found, errors, len(read))
    return Reply(data, lines, exit_code=1 if errors else 0)


def _lines(found: list[PlanFinding], errors: int, count: int) -> Iterator[str]:
    for one in found:
        colour = "red" if one["level"] == "error" else "yellow"
        head = style(f"{one['level']}:", colour, bold=True)
        yield f"{one_line(where(one), LONGEST)}: {head} {safe(one['what'])} ({one['code']})"
        if one["instead"]:
            yield f"   {style('instead:', 'cyan')} {safe(one['instead'])}"
    if not found:
        yield style(f"{plural(count, 'plan file')}, and nothing is wrong.", "green")
    else:
        warnings = plural(len(found) - errors, "warning")
        yield f"{plural(errors, 'error')}, {warnings} in {plural(count, 'plan file')}."
