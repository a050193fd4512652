"""holdfast edits"""

from __future__ import annotations

import os
from collections.abc import Iterator

import click

from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.parser import verb
from holdfast.cli.terminal import ProgressLine, diff_line, safe, style, table
from holdfast.clients.table import title_of
from holdfast.kernel.errors import Conflict
from holdfast.kernel.text import command as command_line
from holdfast.kernel.text import plural, quote
from holdfast.pack.handover_text import age_of
from holdfast.session.edits import (
    EditedFile,
    EditsRequest,
    SessionEdits,
    apply_edits,
    root_of,
    show_edits,
)

COLOURS = {"missing": "yellow", "guarded": "yellow", "present": "green", "conflict": "red"}
SHOWN_PROBLEMS = 5


@click.command()
@click.argument("files", nargs=-1)
@click.option(
    "--session",
    default="",
    help="Session to look at: its id, or the beginning of it.  [default: the newest session of any client "
    "here that edited files]",
)
@click.option("--transcript", type=click.Path(), help="Read this transcript file.")
@click.option("--apply", "applies", is_flag=True, help="Write the missing edits to the work tree.")
@verb
def command(
    call: Call, files: tuple[str, ...], session: str, transcript: str | None, applies: bool
) -> Reply:
    """Show the edits of a session that the work tree lacks, and bring them back.

    Without --apply nothing is written: the missing edits are printed as a diff. FILES limits it to single
    files and folders. A hidden file, or one in a hidden folder, can hold settings that start programs: --apply
    writes it only if FILES names this very file.

    --apply writes them. What changed in a file since stays; where both changed the same lines, the file is
    left alone and named, and the exit code is 5. A snapshot of the work tree is taken first, to undo it.
    """
    request: EditsRequest = {"session": session, "files": files}
    if transcript:
        request["transcript"] = os.path.join(call.folder, transcript)
    workspace = call.workspace_if_any
    with ProgressLine("Reading the session", is_shown=not call.as_json):
        if applies:
            done = apply_edits(workspace, call.folder, request, now=call.now)
        else:
            shown = show_edits(workspace, call.folder, request, now=call.now)
    if not applies:
        _warn_of_secrets(shown)
        # The diff is long, and what stands after one may be taken for a part of it.
        apply = [_command_to_apply(shown, files, transcript)] if _of(shown, "missing") else []
        told = [f"To bring the missing edits back: {safe(command)}" for command in apply]
        told += _ways_to_write_guarded(shown, transcript, call.folder)
        return Reply(
            {**shown},
            [*_files(shown, call.now), *told, *_diff(shown, "missing", "guarded")],
            next=apply if call.as_json else [],
            pages=True,
        )
    lines = [*_files(done, call.now), *(f"Wrote {safe(path)}" for path in done["written"])]
    lines += [*_diff(done, "guarded"), *_ways_to_write_guarded(done, transcript, call.folder)]
    if not done["written"]:
        lines.append("Nothing was written.")
    undo = f"holdfast snapshot restore {quote(done['before'][:12])}"
    if done["written"]:
        lines.append(f"To undo it: {undo}")
    left = [file for file in done["files"] if file["state"] == "conflict" or file["problems"]]
    error = None
    if left:
        error = Conflict(
            f"Edits of {plural(len(left), 'file')} could not be brought back.",
            hint="The list says why. `holdfast edits --json` has every edit.",
        )
    return Reply(
        {**done}, lines, next=[undo] if call.as_json and done["written"] else [], error=error
    )


def _command_to_apply(shown: SessionEdits, files: tuple[str, ...], transcript: str | None) -> str:
    """The command that writes what this one shows."""
    source = ["--transcript", transcript] if transcript else ["--session", shown["session"][:12]]
    return command_line("edits", *source, "--apply", *files)


def _ways_to_write_guarded(shown: SessionEdits, transcript: str | None, folder: str) -> list[str]:
    """The command for each file that is written only if it is named."""
    top, here = root_of(folder), os.path.realpath(folder)
    lines = []
    for file in _of(shown, "guarded"):
        name = os.path.relpath(os.path.join(top, file["path"]), here)
        command = safe(_command_to_apply(shown, (name,), transcript))
        lines.append(f"To write {safe(file['path'])} too, if its diff is right: {command}")
    return lines


def _of(shown: SessionEdits, state: str) -> list[EditedFile]:
    return [file for file in shown["files"] if file["state"] == state]


def _files(shown: SessionEdits, now: int) -> Iterator[str]:
    """One line a file, and why a file or an edit was left alone."""
    count = sum(file["edits"] for file in shown["files"])
    head = f"Session {safe(shown['session'])[:12]} of {title_of(shown['client'])}"
    age = f", last written {age_of(shown['modified'], now)}" if shown["modified"] else ""
    yield f"{head}{age}: {plural(count, 'edit')} of {plural(len(shown['files']), 'file')}."
    rows = [
        [
            style(f"{file['state']:9}", COLOURS.get(file["state"])),
            safe(file["path"]),
            plural(file["edits"], "edit"),
            safe(file["why"]),
        ]
        for file in shown["files"]
    ]
    for row, file in zip(table(rows, indent="  "), shown["files"], strict=True):
        yield row.rstrip()
        is_lacking = file["state"] in ("missing", "guarded")
        for one in file["problems"][:SHOWN_PROBLEMS] if is_lacking else ():
            yield f"             edit {one['number']} is left out: {safe(one['why'])}"
    if shown["files"] and not _of(shown, "missing") and not _of(shown, "guarded"):
        yield "The work tree lacks no edit that can be brought back."


def _diff(shown: SessionEdits, *states: str) -> Iterator[str]:
    for file in (one for state in states for one in _of(shown, state)):
        yield from map(diff_line, file["diff"].removesuffix("\n").split("\n"))


def _warn_of_secrets(shown: SessionEdits) -> None:
    names = [file["path"] for file in shown["files"] if file["is_redacted"]]
    if names:
        warn(
            f"The diff of {', '.join(names)} holds what looks like a secret, shown as [redacted]. "
            "--apply writes the exact text."
        )
