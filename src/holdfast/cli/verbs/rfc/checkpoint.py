"""holdfast rfc prompt, write, transition, bootstrap: write the checkpoint of an RFC, and continue from it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING

import click

from holdfast.cli.frame import Call, Reply, warn, warn_of_views
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe, style, table, text_from
from holdfast.rfc.bootstrap import bootstrap
from holdfast.rfc.reader import RfcContext
from holdfast.rfc.rules.model import GROUPS, MOST_LINES, heading_of, word_of
from holdfast.rfc.rules.questions import LARGEST_ANSWERS
from holdfast.rfc.rules.transitions import TRANSITIONS
from holdfast.rfc.transition import TransitionRequest, transition
from holdfast.rfc.write import Answers, WriteRequest, ask, write

if TYPE_CHECKING:
    from holdfast.rfc.transition import TransitionResult
    from holdfast.rfc.write import WriteResult


def context_of(call: Call) -> RfcContext:
    return RfcContext(call.workspace, call.actor, call.now)


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


def warn_all(warnings: list[str]) -> None:
    for warning in warnings:
        warn(warning)


def describe(written: WriteResult, *, dry_run: bool) -> list[str]:
    """What was written, for people. Prints the warnings."""
    outcome = written["outcome"]
    if outcome is not None:
        warn_of_views(outcome)
        if outcome["queued"]:
            return [
                "Queued in .holdfast/inbox: the journal cannot be written from here. The next process",
                "that can takes it in; until then `git clean -fdx` would remove it.",
            ]
    warn_all(written["warnings"])
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
    next = f"holdfast rfc write {group} {found['id']}".rstrip()
    return Reply({**found}, found["prompt"].split("\n"), next=[next])


@click.command()
@click.argument("group", type=click.Choice(GROUPS))
@click.argument("id", required=False)
@click.option("--from", "source", default="-", metavar="FILE", help="Read the answers from FILE.")
@click.option("--lenient", is_flag=True, help="Write too few bullets with a warning.")
@click.option("--accept-versions", is_flag=True, help="Write even if the files' versions differ.")
@click.option("--dry-run", is_flag=True, help="Print the checkpoint; write nothing.")
@verb
def write_command(
    call: Call,
    group: str,
    id: str | None,
    source: str,
    lenient: bool,
    accept_versions: bool,
    dry_run: bool,
) -> Reply:
    """Write answers (Markdown or JSON on standard input) into .ohrfc/ID/checkpoint.md.

    Bullets of several lines are folded into one, and exact repeats are merged. The limits are 40 lines
    for a group and 200 lines in all. Answers over a limit are refused, never cut; the refusal says
    which section must give how many lines.
    """
    request = WriteRequest(
        id=id or "",
        group=group,
        answers=answers_from(source, lenient=lenient),
        dry_run=dry_run,
        accept_versions=accept_versions,
    )
    done = write(context_of(call), request)
    lines = describe(done, dry_run=dry_run)
    if dry_run:
        lines = [*format_checkpoint(done["text"]), "", *lines]
    return Reply({**done, "dry_run": dry_run}, lines, next=[f"holdfast rfc show {done['id']}"])


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
    call: Call,
    name: str,
    id: str | None,
    to: str | None,
    pressure: int | None,
    restart: bool | None,
    source: str | None,
    lenient: bool,
    accept_versions: bool,
    dry_run: bool,
) -> Reply:
    """Leave a phase. Says whether to write a checkpoint and whether to restart the context.

    Trigger points: discover-design, design-gate-a, gate-b-fail, review-reject. Write their checkpoint
    before (`rfc write`), after, or with --from in one step; until it is written, no other transition is
    possible. Others: gate-a-pass, gate-a-fail, gate-b-pass, review-approve, baseline-change.
    """
    request = TransitionRequest(
        id=id or "",
        name=name,
        to=to or "",
        restart=restart,
        pressure=pressure,
        answers=None if source is None else answers_from(source, lenient=lenient),
        dry_run=dry_run,
        accept_versions=accept_versions,
    )
    done = transition(context_of(call), request)
    warn_all(done["warnings"])
    if done["outcome"] is not None and done["written"] is None:
        warn_of_views(done["outcome"])
    lines = _lines(done, dry_run=dry_run)
    return Reply({**done, "dry_run": dry_run}, lines, next=_next(done))


def _lines(done: TransitionResult, *, dry_run: bool) -> list[str]:
    advice = done["advice"]
    moved = f"{advice['source']} to {advice['target']}"
    if done["outcome"] is not None and done["outcome"]["queued"]:
        return ["Queued in .holdfast/inbox: the journal cannot be written from here."]
    head = f"{done['id']} {'would go' if dry_run else 'went'} from {moved}."
    if done["repeated"]:
        what = "nothing changed" if done["written"] is None else "what it owed is written now"
        head = f"{done['id']} went to {advice['target']} already; {what}."
    write = "no"
    if advice["write"]:
        first = f"first of all: holdfast rfc write {word_of(advice['group'])} {done['id']}"
        write = f"yes, {heading_of(advice['group'])}; {first if done['owed'] else 'it is written'}"
    restart = style("yes", "yellow", bold=True) if advice["restart"] else "no"
    rows = [["Write", write], ["Restart", f"{restart} ({advice['why']})"]]
    lines = [style(head, bold=True), *table(rows, indent="  ")]
    if done["written"] is not None:
        lines += describe(done["written"], dry_run=dry_run)
    return lines


def _next(done: TransitionResult) -> list[str]:
    found = []
    if done["owed"]:
        word = word_of(done["owed"])
        found += [f"holdfast rfc {verb} {word} {done['id']}" for verb in ("prompt", "write")]
    if done["advice"]["restart"]:
        found.append(f"holdfast rfc bootstrap {done['id']}")
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
    warn_all(found["warnings"])
    return Reply({**found}, safe(found["text"]).rstrip("\n").split("\n"))
