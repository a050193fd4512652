"""holdfast checkpoint"""

from __future__ import annotations

import sys
from typing import Any

import click

from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe
from holdfast.kernel.errors import Usage
from holdfast.session import progress_document, sessions
from holdfast.session.checkpoint import checkpoint
from holdfast.session.claims import parse
from holdfast.session.rules.model import REASONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.session.checkpoint import Request


@click.command()
@click.option(
    "--auto", is_flag=True, help="The automated profile: no questions, no git, no prompt."
)
@click.option("--reason", type=click.Choice(REASONS), default="handoff", show_default=True)
@click.option("--session", default="", help="Which session; by default the one at work here.")
@click.option("--issue", help="The issue, such as CIA-123, #12 or owner/repository#12.")
@click.option("--title", help="The issue's title.")
@click.option("--mode", help="The execution mode.")
@click.option("--task", "current", help="The task at hand.")
@click.option("--status", help="How far it is.")
@click.option("--done", multiple=True, help="A task that was finished; repeat it for several.")
@click.option(
    "--remaining", multiple=True, help="A task that is left; given once, it replaces all."
)
@click.option("--decision", "decisions", multiple=True, help='"what: why"; repeat it for several.')
@click.option("--blocker", "blockers", multiple=True, help='"what (unblocked by: condition)".')
@click.option("--no-blockers", is_flag=True, help="Nothing blocks any more.")
@click.option("--next", "next_action", help="The next action, as specific as can be.")
@click.option("--file", "files", multiple=True, help="A file in scope; by default activeTaskFiles.")
@click.option(
    "--claim",
    "claims",
    nargs=2,
    multiple=True,
    metavar="TEXT PROBE",
    help="A claim and its probe: run:COMMAND, file:PATH, commit:ID, clean or tests.",
)
@click.option("--require-verified", is_flag=True, help="Refuse the handoff when a probe fails.")
@click.option("--strict", is_flag=True, help="Refuse a continuation prompt that is too vague.")
@click.option("--from", "source", metavar="-", help="Read a JSON document with these fields.")
@click.option("--skip-git", is_flag=True, help="Make no commit.")
@click.option("--skip-tracker", is_flag=True, help="Do not touch the tracker.")
@click.option("--skip-linear", is_flag=True, help="The same as --skip-tracker.")
@click.option("--dry-run", is_flag=True, help="Show the progress file as it would be.")
@verb
def command(call: Call, **options: Any) -> Reply:
    """Capture this session before its context ends.

    Four steps, each on its own: the progress is written to .ccc-progress.md, the files in scope are
    committed, the issue's status comment is updated, and the continuation prompt is printed. The
    report names every step that failed; the exit code is 0 all the same.
    """
    given, claims = _given(options)
    flag = "--skip-linear" if options["skip_linear"] else "--skip-tracker"
    request: Request = {
        "profile": "automated" if options["auto"] else "manual",
        "reason": options["reason"],
        "session": sessions.check_id(options["session"]),
        "given": given,
        "files": list(options["files"]),
        "claims": claims,
        "skip_git": options["skip_git"],
        "skip_tracker": flag if options["skip_linear"] or options["skip_tracker"] else "",
        "require_verified": options["require_verified"],
        "strict": options["strict"],
        "dry_run": options["dry_run"],
    }
    asks = sys.stdin.isatty() and sys.stdout.isatty() and not call.as_json
    workspace = call.workspace_for(checkpoint)
    result = checkpoint(
        workspace, request, actor=call.actor, now=call.now, ask=_ask if asks else None
    )
    shown = set(result["lines"])
    if not options["auto"]:
        for warning in result["warnings"]:
            if not any(warning in line for line in shown):
                warn(warning)
    data = {name: value for name, value in result.items() if name != "lines"}
    lines = [safe(line) for line in [*result["lines"], result["report"]]]
    return Reply(data, lines, next=["holdfast resume"])


def _ask(question: str) -> str:
    return str(click.prompt(question, default="", show_default=False, err=True))


def _given(options: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    given: dict[str, Any] = {}
    claims: list[dict[str, Any]] = []
    if options["source"]:
        given, claims = _document(options["source"])
    for name in ("issue", "title", "mode", "current", "status"):
        if options[name] is not None:
            given[name] = options[name]
    for name in ("done", "remaining", "decisions", "blockers"):
        if options[name]:
            given[name] = list(options[name])
    if options["no_blockers"]:
        given["blockers"] = []
    if options["next_action"]:
        given["next"] = options["next_action"]
    claims += [{"claim": text, "probe": parse(probe)} for text, probe in options["claims"]]
    return given, claims


def _document(source: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A JSON document on standard input."""
    import json

    if source != "-":
        raise Usage("--from reads standard input only.", hint="holdfast checkpoint --from - < FILE")
    try:
        document = json.loads(sys.stdin.read())
    except ValueError as error:
        raise Usage(f"The document is not JSON: {error}.") from None
    return progress_document.read(document)
