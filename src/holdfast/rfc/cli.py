"""holdfast rfc: keep the reasoning behind an RFC across phases."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.frame import Call, Reply, warn, warn_of_views
from holdfast.cli.parser import TEXT_OR_EMPTY, verb
from holdfast.cli.terminal import ago, safe, style, table, text_from
from holdfast.kernel.inbox import QUEUED, UNTIL_THEN
from holdfast.kernel.text import command, plural, quote
from holdfast.rfc.bootstrap import bootstrap
from holdfast.rfc.init import close, init
from holdfast.rfc.lint import Remark, lint
from holdfast.rfc.reader import context_of
from holdfast.rfc.rules.model import GROUPS, MOST_LINES, STRICTNESS, heading_of, word_of
from holdfast.rfc.rules.questions import LARGEST_ANSWERS
from holdfast.rfc.rules.transitions import TRANSITIONS
from holdfast.rfc.summary import list_rfcs, show
from holdfast.rfc.write import Answers, TransitionRequest, WriteRequest, ask, transition, write

if TYPE_CHECKING:
    from holdfast.rfc.summary import RfcDetails, RfcRow
    from holdfast.rfc.write import TransitionResult, WriteResult


@click.command()
@click.argument("id")
@click.option("--title", type=TEXT_OR_EMPTY, default="", help="Title in rfc.md; by default the id.")
@click.option(
    "--strictness",
    type=click.Choice(STRICTNESS, case_sensitive=False),
    default="standard",
    show_default=True,
    help="Rounds of Gate-B: light none, standard two, full three.",
)
@verb
def init_command(call: Call, id: str, title: str, strictness: str) -> Reply:
    """Begin an RFC in .ohrfc/ID: rfc.md, evidence.json and state.json, in the phase discover.

    Files that exist in that folder are kept.
    """
    begun = init(context_of(call), id, title=title, strictness=strictness)
    warn_of_views(begun["outcome"])
    lines = [f"{begun['folder']} is ready: discover, {strictness}."]
    lines += [f"Kept as it was: {name}" for name in begun["kept"]]
    if begun["outcome"]["queued"]:
        lines = [QUEUED]
    return Reply({**begun}, lines, next=[f"holdfast rfc prompt discover {quote(id)}"])


@click.command()
@click.argument("id")
@click.option("--reopen", is_flag=True, help="Open the RFC again.")
@verb
def close_command(call: Call, id: str, reopen: bool) -> Reply:
    """End the RFC ID, which will not be accepted. Its files stay as they are.

    A closed RFC is in no list and in no resumed session; `rfc list --all` shows it.
    """
    found, outcome = close(context_of(call), id, reopen=reopen)
    warn_of_views(outcome)
    line = f"{found} is {'open' if reopen else 'closed'}."
    undo = "" if reopen else " --reopen"
    if outcome["queued"]:
        line = QUEUED
    data = {"id": found, "closed": not reopen, "outcome": outcome}
    return Reply(data, [line], next=[f"holdfast rfc close {quote(found)}{undo}"])


@click.command()
@click.option("--all", "everything", is_flag=True, help="List accepted and closed RFCs too.")
@verb
def list_command(call: Call, everything: bool) -> Reply:
    """List the open RFCs and what each waits for."""
    known = list_rfcs(call.workspace)
    shown = [row for row in known if everything or row["open"]]
    lines = list(table([_cells(row, call.now) for row in shown])) or ["No RFC is open."]
    hidden = len(known) - len(shown)
    if hidden:
        lines.append(style(f"and {plural(hidden, 'accepted or closed one')}: --all", dim=True))
    next = [f"holdfast rfc bootstrap {quote(row['id'])}" for row in shown if row["restart"]]
    return Reply({"rfcs": shown}, lines, next=next)


def _cells(row: RfcRow, now: int) -> list[str]:
    return [
        style(safe(row["id"]), "yellow"),
        safe(row["phase"]),
        safe(row["strictness"]),
        f"round {row['round']}/{row['max_rounds']}" if row["round"] else "",
        f"version {row['version']}" if row["version"] else "no checkpoint",
        ago(row["updated_at"], now) if row["updated_at"] else "",
        _waits_for(row),
    ]


def _waits_for(row: RfcRow) -> str:
    if row["problems"]:
        return style(f"cannot be read: holdfast rfc lint {quote(row['id'])}", "red")
    if row["closed"]:
        return style(f"closed: holdfast rfc close {quote(row['id'])} --reopen", dim=True)
    if row["owed"]:
        return style(
            f"owes its checkpoint: holdfast rfc prompt {quote(row['owed'])} {quote(row['id'])}",
            "yellow",
        )
    return style("bootstrap first", "yellow") if row["restart"] else ""


@click.command()
@click.argument("id", required=False)
@verb
def show_command(call: Call, id: str | None) -> Reply:
    """Show the phase of an RFC and its checkpoint, with the edits that people made in the files."""
    found = show(call.workspace, id or "")
    warn(*found["problems"])
    lines = list(table(_facts(found, call.now)))
    # The table says what Meta says.
    _, rule, groups = found["checkpoint"].partition("\n---\n")
    lines += ["", *format_checkpoint(f"---\n{groups}")] if rule else []
    data = {name: found[name] for name in ("state", "checkpoint", "drift", "problems")}
    begin = f"holdfast rfc prompt discover {quote(found['state']['id'])}"
    next = [] if found["checkpoint"] else [begin]
    return Reply(data, lines, next=next, pages=True)


def _facts(found: RfcDetails, now: int) -> list[list[str]]:
    row, fields = found["row"], found["state"]["fields"]
    rounds = f", Gate-B round {row['round']} of {row['max_rounds']}" if row["round"] else ""
    rows = [
        ["RFC", style(safe(row["id"]), "yellow")],
        ["Phase", safe(f"{fields.get('current_phase', '')}{rounds}")],
        ["Strictness", row["strictness"]],
        *([["Closed", safe(row["closed"])]] if row["closed"] else []),
    ]
    if not found["checkpoint"]:
        return [*rows, ["Checkpoint", "not written yet"]]
    room = f"{found['lines']} of {MOST_LINES} lines, about {found['tokens']} tokens"
    rows.append(["Checkpoint", f"version {row['version']}, {room}"])
    rows.append(["Updated", safe(f"{row['updated_at']} ({ago(row['updated_at'], now)})")])
    rows += [["Drift", style(safe(what), "yellow")] for what in found["drift"]]
    if row["owed"]:
        owed = f"holdfast rfc write {quote(row['owed'])} {quote(row['id'])}"
        rows.append(["Owes", style(owed, "yellow")])
    if row["restart"]:
        rows.append(["Restart", style(f"holdfast rfc bootstrap {quote(row['id'])}", "yellow")])
    return rows


@click.command()
@click.argument("what", required=False, metavar="[ID | FILE]")
@click.option("--lenient", is_flag=True, help="Too few bullets are a warning, not an error.")
@verb
def lint_command(call: Call, what: str | None, lenient: bool) -> Reply:
    """Check a checkpoint against the protocol. Prints path:line: message; exits with 1 on an error.

    An ID stands for its checkpoint.md and state.json, a FILE for any checkpoint.
    """
    remarks = lint(call.workspace, what or "", lenient=lenient)
    errors = [remark for remark in remarks if remark["severity"] == "error"]
    count = f"{plural(len(errors), 'error')}."
    end = style(count, "red") if errors else style("No errors.", "green")
    lines = [*(_line(remark) for remark in remarks), end]
    return Reply({"remarks": remarks}, lines, exit_code=1 if errors else 0)


def _line(remark: Remark) -> str:
    word = style("warning: ", "yellow") if remark["severity"] == "warning" else ""
    place = style(safe(f"{remark['path']}:{remark['line']}:"), bold=True)
    return f"{place} {word}{safe(remark['message'])}"


def answers_from(source: str, *, lenient: bool) -> Answers:
    """The answers in a file, or on standard input for `-`."""
    text = text_from(
        source,
        largest=LARGEST_ANSWERS,
        example="holdfast rfc write GROUP < FILE, or --from FILE",
        advice="Signals over transcripts: one line a bullet.",
    )
    name = "standard input" if source == "-" else source
    return Answers(text=text, source=name, lenient=lenient)


def describe(written: WriteResult, *, dry_run: bool) -> list[str]:
    """What was written, for people. Prints the warnings."""
    outcome = written["outcome"]
    if outcome is not None:
        warn_of_views(outcome)
        if outcome["queued"]:
            return [QUEUED, UNTIL_THEN]
    warn(*written["warnings"])
    word = "Would write" if dry_run else "Wrote"
    room = f"{written['lines']} of {MOST_LINES} lines"
    lines = [f"{word} {safe(written['id'])} checkpoint version {written['version']}: {room}."]
    return lines + [f"Left out to stay within the budget: {one}." for one in written["dropped"]]


def format_checkpoint(text: str) -> Iterator[str]:
    """A checkpoint for people. On a terminal, long bullets are wrapped under their dash."""
    width = get_terminal_size().columns if sys.stdout.isatty() else 0
    for line in text.rstrip("\n").split("\n"):
        clean = safe(line)
        if width and len(clean) > width:
            yield from wrap(clean, width, subsequent_indent="  ", break_on_hyphens=False)
        elif clean.startswith("### "):
            yield style(clean, "cyan", bold=True)
        elif clean.startswith("#"):
            yield style(clean, bold=True)
        else:
            yield style(clean, dim=True) if clean == "---" else clean


@click.command()
@click.argument("group", type=click.Choice(GROUPS))
@click.argument("id", required=False)
@verb
def prompt_command(call: Call, group: str, id: str | None) -> Reply:
    """Print the questions at a phase boundary, with the number of bullets for each section.

    Answer under each heading (`### User Intent Signals`), one line a bullet, and give the answers to
    `holdfast rfc write GROUP`. ID is required if several RFCs are open.
    """
    found = ask(call.workspace, group, id or "")
    next = command("rfc", "write", group, *([found["id"]] if found["id"] else []))
    return Reply({**found}, found["prompt"].split("\n"), next=[next])


@click.command()
@click.argument("group", type=click.Choice(GROUPS))
@click.argument("id", required=False)
@click.option("--from", "source", default="-", metavar="FILE", help="Read the answers from FILE.")
@click.option("--lenient", is_flag=True, help="Write too few bullets with a warning.")
@click.option("--accept-versions", is_flag=True, help="Write even if the files' versions differ.")
@click.option("--dry-run", is_flag=True, help="Print the checkpoint; write nothing.")
@verb
def write_command(call: Call, id: str | None, source: str, lenient: bool, **given: Any) -> Reply:
    """Write answers (Markdown on standard input) into .ohrfc/ID/checkpoint.md.

    Bullets of several lines are folded into one, and exact repeats are merged. The limits are 40 lines
    for a group and 200 lines in all. Answers over a limit are refused, never cut; the refusal says
    which section must give how many lines.
    """
    request = WriteRequest(id=id or "", answers=answers_from(source, lenient=lenient), **given)
    done = write(context_of(call), request)
    lines = describe(done, dry_run=request.dry_run)
    if request.dry_run:
        lines = [*format_checkpoint(done["text"]), "", *lines]
    data = {**done, "dry_run": request.dry_run}
    return Reply(data, lines, next=[f"holdfast rfc show {quote(done['id'])}"])


@click.command()
@click.argument("name", type=click.Choice(list(TRANSITIONS)), metavar="TRANSITION")
@click.argument("id", required=False)
@click.option(
    "--to", type=click.Choice(["design", "discover"]), help="Next phase after gate-b-fail."
)
@click.option("--pressure", type=click.IntRange(0, 100), help="Percent of the context in use.")
@click.option("--restart/--no-restart", default=None, help="Restart the context, or do not.")
@click.option("--from", "source", metavar="FILE", help="Write the answers in FILE (or -) too.")
@click.option("--lenient", is_flag=True, help="Write too few bullets with a warning.")
@click.option("--accept-versions", is_flag=True, help="Write even if the files' versions differ.")
@click.option("--dry-run", is_flag=True, help="Say what would be asked for; change nothing.")
@verb
def transition_command(
    call: Call, id: str | None, to: str | None, source: str | None, lenient: bool, **given: Any
) -> Reply:
    """Leave a phase. Says whether to write a checkpoint and whether to restart the context.

    Trigger points: discover-design, design-gate-a, gate-b-fail, review-reject. Write their checkpoint
    before (`rfc write`), after, or with --from in one step; until it is written, no other transition is
    possible. Others: gate-a-pass, gate-a-fail, gate-b-pass, review-approve, baseline-change.
    """
    answers = None if source is None else answers_from(source, lenient=lenient)
    request = TransitionRequest(id=id or "", to=to or "", answers=answers, **given)
    done = transition(context_of(call), request)
    warn(*done["warnings"])
    if done["outcome"] is not None and done["written"] is None:
        warn_of_views(done["outcome"])
    lines = _lines(done, dry_run=request.dry_run)
    return Reply({**done, "dry_run": request.dry_run}, lines, next=_next(done))


def _lines(done: TransitionResult, *, dry_run: bool) -> list[str]:
    advice = done["advice"]
    moved = f"{advice['source']} to {advice['target']}"
    if done["outcome"] is not None and done["outcome"]["queued"]:
        return [QUEUED]
    head = f"{done['id']} {'would go' if dry_run else 'went'} from {moved}."
    if done["repeated"]:
        what = "nothing changed" if done["written"] is None else "what it owed is written now"
        head = f"{done['id']} went to {advice['target']} already; {what}."
    write = "no"
    if advice["write"]:
        first = f"first of all: holdfast rfc write {word_of(advice['group'])} {quote(done['id'])}"
        write = f"yes, {heading_of(advice['group'])}; {first if done['owed'] else 'it is written'}"
    restart = style("yes", "yellow", bold=True) if advice["restart"] else "no"
    rows = [["Write", write], ["Restart", f"{restart} ({advice['why']})"]]
    lines = [style(head, bold=True), *table(rows, indent="  ")]
    if done["written"] is not None:
        lines += describe(done["written"], dry_run=dry_run)
    if advice["restart"]:
        lines.append(
            "The context must restart: end this session once the checkpoint is written, and begin a new one "
            f"with: holdfast rfc bootstrap {quote(done['id'])}"
        )
    return lines


def _next(done: TransitionResult) -> list[str]:
    found = []
    if done["owed"]:
        word = word_of(done["owed"])
        found += [f"holdfast rfc {verb} {word} {quote(done['id'])}" for verb in ("prompt", "write")]
    if done["advice"]["restart"]:
        found.append(f"holdfast rfc bootstrap {quote(done['id'])}")
    return found


@click.command()
@click.argument("id", required=False)
@verb
def bootstrap_command(call: Call, id: str | None) -> Reply:
    """Print everything that a fresh context needs to continue an RFC, as one text. Writes nothing.

    The order is the protocol's: state.json, checkpoint.md, rfc.md and evidence.json, the reviewers'
    summary after a Gate-B failure, the references of the phase, and the questions to re-orient.
    """
    found = bootstrap(call.workspace, id or "")
    warn(*found["warnings"])
    return Reply({**found}, safe(found["text"]).rstrip("\n").split("\n"))
