"""holdfast resume, go; and holdfast without a verb."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import click

from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.parser import verb
from holdfast.cli.terminal import ProgressLine, echo, one_line, safe, style
from holdfast.clients.table import NAMES, title_of, titles
from holdfast.kernel import clock
from holdfast.kernel.errors import NotFound, Usage
from holdfast.kernel.text import plural, split_words
from holdfast.processes.child import find_program
from holdfast.session.client_start import (
    MOST_HOURS,
    ResetRequest,
    command_for,
    command_to_start,
    first_prompt,
    hand_over,
    wait_for_reset,
)
from holdfast.session.resume import refuse_foreign, resume, verdict_above
from holdfast.session.rules.fields import UNKNOWN_ISSUE
from holdfast.session.rules.prompt import is_generic
from holdfast.session.session_list import (
    command_to_resume,
    describe_last_activity,
    first_to_resume,
    list_sessions,
)

if TYPE_CHECKING:
    from holdfast.clients.table import ClientName
    from holdfast.kernel.workspace import Workspace
    from holdfast.session.ask import Asked
    from holdfast.session.claims import CheckedClaim
    from holdfast.session.resume import ResumeRequest, Resumption
    from holdfast.session.session_list import ListedSession

COLOURS = {"CLEAN": "green", "STALE": "yellow", "DRIFTED": "yellow", "FOREIGN": "red"}
WIDTH = 78
# The fields of a session's state that `--list --json` shows; the others are the journal's own.
OF_JOURNAL = split_words("begun_at progress last captures stated ended_at adopts adopted_by")


@click.command()
@click.option("--session", default="", help="Session to resume: its id, or the beginning of it.")
@click.option("--list", "listing", is_flag=True, help="List the sessions of all clients here.")
@click.option("--transcript", type=click.Path(), help="Resume from this transcript file.")
@click.option(
    "--budget",
    type=click.IntRange(min=400),
    help="Print at most this many characters.  [default: setting session.pack_characters, 9000]",
)
@click.option(
    "--in",
    "client",
    type=click.Choice(NAMES),
    help="Start this client here, with the text as its first prompt.",
)
@click.option(
    "--ask",
    is_flag=True,
    help="First let the client continue a copy of the session for one turn, without tools, and say what it knows. "
    "It costs money; only a person can ask for it.",
)
@click.option(
    "--at-reset",
    is_flag=True,
    help="With --in: wait until the usage limit of that client is reset. Only a person can ask for it.",
)
@click.option(
    "--at-most",
    type=click.IntRange(min=1, max=24 * 8),
    default=MOST_HOURS,
    show_default=True,
    help="With --at-reset: wait at most this many hours.",
)
@click.option(
    "--issue", default="", help="The issue that you work on; work on another issue is FOREIGN."
)
@click.option(
    "--accept-foreign", is_flag=True, help="Continue here although the verdict is FOREIGN."
)
@click.option(
    "--recheck",
    is_flag=True,
    help="Run the probes of the last checkpoint again; only commands that you ran here before.",
)
@click.option("--prompt-only", is_flag=True, help="Print only the continuation prompt.")
@verb
def resume_command(
    call: Call,
    session: str,
    listing: bool,
    transcript: str | None,
    budget: int | None,
    client: ClientName | None,
    ask: bool,
    at_reset: bool,
    at_most: int,
    issue: str,
    accept_foreign: bool,
    recheck: bool,
    prompt_only: bool,
) -> Reply:
    """Print what the next session needs to continue the work that was left here.

    No set-up is needed: without a journal, the newest transcript of any client in this folder is read,
    and nothing is written.

    The first line says whether the work tree is as it was left: CLEAN, DRIFTED (with the files that
    changed), STALE (too old), FOREIGN (another repository, worktree or issue), or UNKNOWN (no checkpoint
    to compare with, or not compared).

    No recorded command is run. Each claim says when, by which actor and at which commit it was last verified;
    --recheck shows the commands and runs those that a checkpoint of yours ran here.

    --ask lets the client itself continue a copy of the session for one turn without tools. Its answer is kept as
    stated by that session. The session and the work tree stay as they are.

    --in CLIENT --at-reset waits for the end of a usage limit, then starts the client. It says until when,
    and Ctrl+C ends it.
    """
    workspace = call.workspace_if_any and call.workspace_for(resume)
    if listing:
        return _listing(call, workspace)
    if ask and workspace is None:
        raise NotFound("A session can be asked in a project only.", hint="holdfast init")
    if at_reset:
        session = _wait(call, workspace, client, session, at_most)
    request: ResumeRequest = {
        "session": session,
        "issue": issue,
        "budget": budget or 0,
        "recheck": recheck,
        "begin": True,
        "accept_foreign": accept_foreign,
    }
    if transcript:
        request["transcript"] = os.path.join(call.folder, transcript)
    found = _read(call, workspace, request)
    asked = _ask(call, workspace, found) if ask and workspace else None
    if asked and asked["answer"]:
        found = _read(call, workspace, {**request, "session": found["session"]})
    if not accept_foreign:
        refuse_foreign(found)
    if found["at_work"]:
        of = f" of {title_of(found['client'])}" if found["client"] else ""
        warn(
            f"Session {found['session'][:8]}{of} is at work at this moment. "
            "Another session that continues its work edits the same files."
        )
    data: dict[str, object] = {**found, "asked": asked} if asked else {**found}
    if client:
        return _start(call, client, found, data)
    if prompt_only:
        if not found["prompt"] or is_generic(found["prompt"]):
            warn("There is no Continuation Prompt to resume from.")
        return Reply(data, safe(found["prompt"]).split("\n"))
    checked = [_claim(one) for one in found["claims"] if recheck]
    lines = [*checked, *([""] if checked else []), *map(safe, verdict_above(found))]
    lines += safe(found["pack"]).split("\n")
    verdict = found["verdict"]
    at = next((number for number, line in enumerate(lines) if verdict in line), -1)
    if at >= 0 and verdict in COLOURS:
        coloured = style(verdict, COLOURS[verdict], bold=True)
        lines[at] = lines[at].replace(verdict, coloured, 1)
    following = command_to_start(found, transcript or "", accept_foreign=accept_foreign)
    return Reply(data, lines, next=[following] if following else [])


def _read(call: Call, workspace: Workspace | None, request: ResumeRequest) -> Resumption:
    with ProgressLine("Reading the session", is_shown=not call.as_json):
        if workspace is not None:
            return resume(workspace, request, now=call.now)
        from holdfast.session.transcript_resume import resume_without_workspace

        return resume_without_workspace(call.folder, request, now=call.now)


def _ask(call: Call, workspace: Workspace, found: Resumption) -> Asked:
    """Ask the session; one line says why it gave no answer."""
    from holdfast.session.ask import ask_session, request_for

    name = f"{title_of(found['client'])} {found['session'][:8]}"
    with ProgressLine(f"Asking {name}", is_shown=not call.as_json):
        asked = ask_session(workspace, request_for(found), now=call.now)
    if asked["why"]:
        warn(f"{asked['why']} What follows is what was observed.")
    return asked


# The name that users of the CCC protocol know.
go_command = resume_command


def _claim(one: CheckedClaim) -> str:
    """What became of a probe."""
    probe = safe(one["probe"])
    if not one["rechecked"]:
        return f"  not run: {probe}: {one['reason']}"
    return f"  {'verified' if one['ok'] else 'unverified'}: {safe(one['claim'])} ({probe})"


def _listing(call: Call, workspace: Workspace | None) -> Reply:
    folder = workspace.root if workspace else call.folder
    with ProgressLine("Reading the sessions of your clients", is_shown=not call.as_json):
        listed = list_sessions(folder, workspace, now=call.now)
    lines = [line for one in listed for line in _entry(one)]
    empty = [f"No session of {titles()} was found in this folder,", "and no checkpoint."]
    first = first_to_resume(listed)
    following = []
    if first:
        following = [command_to_resume(first["session"], is_foreign=not first["here"])]
    return Reply({"sessions": [_data(one) for one in listed]}, lines or empty, next=following)


def _data(one: ListedSession) -> dict[str, object]:
    """The entry for programs: what the journal knows of the session stands beside it."""
    state: dict[str, object] = {**one["state"]} if one["state"] else {}
    known = {name: state[name] for name in OF_JOURNAL if name in state}
    return {**known, **{name: value for name, value in one.items() if name != "state"}}


def _entry(one: ListedSession) -> list[str]:
    """Two lines: the session and its state; its first request."""
    issue = one["state"]["progress"]["issue"] if one["state"] else UNKNOWN_ISSUE
    facts = [
        "" if issue == UNKNOWN_ISSUE else safe(issue),
        describe_last_activity(one),
        plural(one["edits"], "edit"),
        plural(len(one["open_tasks"]), "open task") if one["open_tasks"] else "",
        "at work" if one["at_work"] else one["checkpoint"],
        "" if one["here"] else f"in {safe(one['worktree'])}",
    ]
    name = style(f"{safe(one['session'])[:12]:<12}", "yellow")
    head = f"{name}  {one['client'] or 'no client':<9} {', '.join(filter(None, facts))}"
    return [head, f"              {one_line(one['request'] or 'no request yet', WIDTH - 14)}"]


def _wait(
    call: Call, workspace: Workspace | None, client: ClientName | None, session: str, hours: int
) -> str:
    """Wait for the reset of a client's usage limit; the session whose turn the limit ended."""
    if not client:
        raise Usage("--at-reset needs a client.", hint="holdfast resume --in claude --at-reset")
    if workspace is None:
        raise NotFound("Usage limits are known in a project only.", hint="holdfast init")

    request = ResetRequest(client=client, session=session, hours=hours)
    limited = wait_for_reset(workspace, request, partial(echo, error=True), now=call.now)
    call.now = clock.now()
    return limited["session"]


def _start(call: Call, client: ClientName, found: Resumption, data: dict[str, object]) -> Reply:
    """Replace this process by the client."""
    words = command_for(client, first_prompt(found))
    program = find_program(words[0])
    if not program:
        raise NotFound(
            f"{words[0]} is not installed, or not on the PATH.",
            hint="Without --in the text is printed: paste it as the first prompt.",
        )
    if call.as_json:
        return Reply({**data, "command": words}, [])
    os.chdir(call.folder)
    hand_over(found)
    os.execv(program, words)  # noqa: S606
    raise AssertionError("unreachable")
