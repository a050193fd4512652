"""holdfast checkpoint"""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.frame import Call, Reply, tell_of_new_file, warn
from holdfast.cli.parser import TEXT_OR_EMPTY, together, verb
from holdfast.cli.terminal import safe
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.session import progress_document, sessions
from holdfast.session.checkpoint import checkpoint
from holdfast.session.claims import parse
from holdfast.session.rules.fields import GIVEN
from holdfast.session.rules.model import REASONS
from holdfast.session.rules.prompt import (
    NAMES_NO_ACTION,
    NAMES_NO_FILES,
    NAMES_NO_ISSUE,
    NAMES_NO_POSITION,
)

if TYPE_CHECKING:
    from holdfast.session.checkpoint import Request

WEAK_WITHOUT = {
    NAMES_NO_ISSUE: "--issue",
    NAMES_NO_POSITION: "--task, --done, --remaining",
    NAMES_NO_FILES: "--file",
    NAMES_NO_ACTION: "--next",
}


field_options = together(
    *(
        click.option(
            field.option,
            field.name,
            multiple=field.is_list,
            type=TEXT_OR_EMPTY if field.can_be_empty else str,
            help=field.help,
        )
        for field in GIVEN
        if field.option
    )
)


@click.command()
@click.option(
    "--auto", is_flag=True, help="Ask nothing, commit nothing, print no prompt; for hooks."
)
@click.option(
    "--reason",
    type=click.Choice(REASONS),
    default="handoff",
    show_default=True,
    help="Why the session is captured.",
)
@click.option("--session", default="", help="Session id.  [default: the session at work here]")
@field_options
@click.option(
    "--file",
    "files",
    multiple=True,
    help="A file in scope: git commits it if it is tracked, and the prompt names it; repeatable.  "
    "[default: activeTaskFiles of .ccc-state.json]",
)
@click.option(
    "--claim",
    "claims",
    nargs=2,
    multiple=True,
    metavar="TEXT PROBE",
    help="A claim, and the probe that verifies it: run:COMMAND, file:PATH, commit:ID, clean or tests.",
)
@click.option("--require-verified", is_flag=True, help="Refuse the checkpoint if a probe fails.")
@click.option("--strict", is_flag=True, help="Refuse a continuation prompt that is too vague.")
@click.option("--from", "source", metavar="-", help="Read the fields from JSON on standard input.")
@click.option("--skip-git", is_flag=True, help="Make no commit.")
@click.option("--skip-tracker", is_flag=True, help="Do not update the issue's status comment.")
@click.option("--skip-linear", is_flag=True, help="The same as --skip-tracker.")
@click.option("--dry-run", is_flag=True, help="Print the progress file; change nothing.")
@verb
def command(call: Call, **options: Any) -> Reply:
    """Capture this session before its context ends.

    A checkpoint has four steps. It writes the progress to .ccc-progress.md, commits the files in scope,
    updates the issue's status comment, and prints the continuation prompt. A step that fails does not
    stop the others: the report names it. The exit code is 1 if the progress itself was not kept, and 0 otherwise.

    What you do not give stays as it was stated before. An empty text clears --title, --task, --status,
    --remaining and --blocker; a new --next replaces the old one.
    """
    given, claims = _read_fields(options)
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
    ask = partial(click.prompt, default="", show_default=False, err=True) if asks else None
    result = checkpoint(workspace, request, actor=call.actor, now=call.now, ask=ask)
    shown = set(result["lines"])
    if not options["auto"]:
        for path in result["created"]:
            tell_of_new_file(workspace, path)
        for warning in result["warnings"]:
            if not any(warning in line for line in shown):
                warn(_with_option(warning))
    data = {name: value for name, value in result.items() if name != "lines"}
    lines = [safe(line) for line in [*result["lines"], result["report"]]]
    # Without its first step a checkpoint has kept nothing.
    first = result["steps"][0] if result["steps"] else None
    lost = None
    if first is not None and first["status"] == "failed" and result["recorded"]:
        lost = HoldfastError(
            f"{first['cause']}.",
            hint="Make its folder writable: the next checkpoint writes the file.",
            kind="not_written",
        )
    elif first is not None and first["status"] == "failed":
        lost = HoldfastError(
            f"The progress was not kept: {first['cause'] or first['message']}.",
            hint="`holdfast doctor` says what is wrong with the journal.",
            kind="not_kept",
        )
    return Reply(data, lines, next=["holdfast resume"], error=lost)


def _with_option(warning: str) -> str:
    """A warning about a weak prompt, with the options that mend it."""
    options = next((words for words in WEAK_WITHOUT if words in warning), "")
    return f"{warning.rstrip('.')} ({WEAK_WITHOUT[options]})." if options else warning


def _read_fields(options: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The fields of the progress, and the claims. An option overrides the document."""
    document = _document(options["source"]) if options["source"] else {}
    for field in GIVEN:
        value = options.get(field.name)
        if field.is_list and value:
            document[field.name] = [text for text in value if text.strip()]
        elif not field.is_list and value is not None:
            document[field.name] = value
    given, claims = progress_document.read(document)
    claims += [{"claim": text, "probe": parse(probe)} for text, probe in options["claims"]]
    return given, claims


def _document(source: str) -> dict[str, Any]:
    """A JSON object on standard input."""
    if source != "-":
        raise Usage("--from reads standard input only.", hint="holdfast checkpoint --from - < FILE")
    try:
        document = json.loads(sys.stdin.read())
    except ValueError as error:
        raise Usage(f"The document is not JSON: {error}.") from None
    if not isinstance(document, dict):
        raise Usage("The document must be a JSON object.")
    return document
