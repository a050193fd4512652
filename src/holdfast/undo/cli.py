"""holdfast undo, redo"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.parser import verb
from holdfast.cli.terminal import ago, cut, diff_line, echo, safe, style, table, terminal_size
from holdfast.clients.table import title_of
from holdfast.kernel.errors import HoldfastError, NotAllowed, Usage
from holdfast.kernel.text import plural, quote
from holdfast.undo.operations import (
    ConflictError,
    UndoRequest,
    list_prompts,
    preview,
    undo,
)
from holdfast.undo.recovery import finish_unfinished

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from holdfast.undo.operations import FileChange, Row, UndoReport

SHOWN = 40


OPTIONS = [
    click.option("--yes", is_flag=True, help="Do it without asking."),
    click.option(
        "--dry-run", is_flag=True, help="Show what would be done, with both sides of a conflict."
    ),
    click.option("--diff", "with_diff", is_flag=True, help="Show the change as a diff."),
    click.option("--commits", is_flag=True, help="Move HEAD and the index, too."),
    click.option("--skip-conflicts", is_flag=True, help="Leave files in conflict as they are."),
]


def _with_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of `undo` and `redo`."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@click.command()
@click.argument("words", nargs=-1, metavar="[N] [PATH]...")
@click.option("--list", "lists", is_flag=True, help="List the prompts that can be taken back.")
@_with_options
@click.option("--every-session", is_flag=True, help="Take the prompts of all sessions since.")
@click.option("--id", default="", help="Take back this entry of the list instead.")
@verb
def undo_command(call: Call, words: tuple[str, ...], lists: bool, **given: Any) -> Reply:
    """Take back what the last prompt changed in the work tree, or the last N prompts, or only in these PATHs.

    It shows the change and asks. What a shell wrote and files that git does not track are part of it; what you changed since is merged.
    HEAD and the index stay without --commits. What is there now is kept first: `holdfast redo` brings it back.
    An agent can list and look, and gets exit code 4 otherwise.
    """
    if lists:
        note = finish_unfinished(call.workspace, call.now)
        if note:
            warn(note)
        rows = list_prompts(call.workspace)
        return Reply({"prompts": rows}, list_lines(rows, call.now), pages=True)
    back, paths = _parse(words)
    return _run(call, back=back, paths=paths, **given)


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@_with_options
@verb
def redo_command(call: Call, paths: tuple[str, ...], **given: Any) -> Reply:
    """Bring back what the last undo took."""
    return _run(call, redo=True, paths=paths, **given)


def _parse(words: Sequence[str]) -> tuple[int, tuple[str, ...]]:
    """A number first is how many prompts; everything else is a path. `./3` is a file."""
    if words and words[0].isascii() and words[0].isdigit():
        if len(words[0]) > 6 or int(words[0]) == 0:
            raise Usage(f"{words[0]:.20} is no number of prompts.", hint="holdfast undo --list")
        return int(words[0]), tuple(words[1:])
    return 1, tuple(words)


def _run(call: Call, *, yes: bool, dry_run: bool, with_diff: bool, **given: Any) -> Reply:
    request = UndoRequest(with_diff=with_diff or dry_run, **given)
    verb_name = "redo" if request.redo else "undo"
    if dry_run or not yes:
        shown = preview(call.workspace, request, now=call.now)
        lines = list(report_lines(shown, call.now))
        is_person = not call.as_json and sys.stdin.isatty() and sys.stdout.isatty()
        is_asked = is_person and not dry_run
        if is_asked and shown["conflicts"] and not request.skip_conflicts:
            return _refuse(shown, lines, ConflictError(shown))
        if not is_asked or not has_changes(shown):
            next = [_command(request, shown)] if has_changes(shown) and not dry_run else []
            return Reply({**shown}, lines, next=next, pages=dry_run)
        for line in lines:
            echo(line)
        question = "Bring it back?" if request.redo else "Take it back?"
        if not click.confirm(question, default=False):
            return Reply({**shown}, ["Nothing was changed."])
    try:
        done = undo(call.workspace, request, actor=call.actor, now=call.now)
    except (ConflictError, NotAllowed) as error:
        if isinstance(error, ConflictError):
            shown = error.report
        else:
            shown = preview(call.workspace, request, now=call.now)
        return _refuse(shown, report_lines(shown, call.now), error)
    lines = list(report_lines(done, call.now)) if yes else []
    if done["left"]:
        warn(f"Left as they are, because they changed just now: {', '.join(done['left'])}")
    back = "holdfast redo" if verb_name == "undo" else "holdfast undo --list"
    return Reply({**done}, [*lines, _said(done)], next=[back] if done["done"] else [])


def _command(request: UndoRequest, shown: UndoReport) -> str:
    """Return what carries out what was shown."""
    words = ["holdfast", "redo" if request.redo else "undo"]
    words += [str(request.back)] if request.back > 1 and not request.id else []
    words += [quote(one) for one in request.paths]
    words += [f"--id {quote(request.id)}"] if request.id else []
    words += ["--commits"] if request.commits else []
    words += ["--every-session"] if request.every_session else []
    words += ["--skip-conflicts"] if shown["conflicts"] else []
    return " ".join([*words, "--yes"])


def has_changes(shown: UndoReport) -> bool:
    return bool(shown["files"] or shown["folders"] or shown["is_head_moved"])


def _refuse(shown: UndoReport, lines: Iterable[str], error: HoldfastError) -> Reply:
    why = [style(f"error: {safe(error.message)}", "red"), f"hint: {safe(error.hint)}"]
    return Reply({**shown}, [*lines, *why], error=error)


def _said(done: UndoReport) -> str:
    if not done["done"]:
        return "Nothing was changed."
    what = "Brought back" if done["kind"] == "redo" else "Taken back"
    return f"{what}: {plural(len(done['files']), 'file')}. What was there is kept."


def report_lines(shown: UndoReport, now: int) -> Iterator[str]:
    """What an undo changes, and what it leaves alone."""
    if shown["note"]:
        yield safe(shown["note"])
    for row in shown["prompts"]:
        yield style(_title(row, now), bold=True)
    if not shown["files"] and not shown["folders"]:
        is_shared = shown["mixed"] or shown["others"]
        what = "None of its files is its own" if is_shared else "Every file is as before already"
        yield f"  {what}: nothing is taken back."
    yield from _file_lines(shown["files"])
    for folder in shown["folders"][:SHOWN]:
        what = "comes back" if folder in shown["new_folders"] else "goes"
        yield f"  {safe(folder)}/  {what}, an empty folder"
    for one in shown["conflicts"]:
        yield style(f"  conflict  {safe(one['path'])}: {safe(one['why'])}", "red")
        yield from (f"    {diff_line(line)}" for line in one["sides"].splitlines()[: 2 * SHOWN])
    yield from _left_lines(shown)
    if shown["diff"]:
        yield from map(diff_line, shown["diff"].removesuffix("\n").split("\n"))


def _file_lines(files: Sequence[FileChange]) -> Iterator[str]:
    words = {
        "create": "comes back",
        "write": "",
        "delete": "goes",
        "merge": "merged with what changed since",
        "mode": "its mode comes back",
    }
    rows = [
        [
            safe(one["path"]),
            _count_lines(one),
            words[one["how"]],
            "untracked" if one["is_untracked"] else "",
        ]
        for one in files[:SHOWN]
    ]
    yield from table(rows, indent="  ")
    if len(files) > SHOWN:
        yield f"  and {len(files) - SHOWN} more"


def _count_lines(file: FileChange) -> str:
    if file["how"] == "mode":
        return ""
    if file["added"] is None:
        return "no text"
    return f"+{file['added']} -{file['removed']}" if file["added"] or file["removed"] else "empty"


def _left_lines(shown: UndoReport) -> Iterator[str]:
    if shown["is_head_moved"]:
        count = plural(len(shown["commits"]), "commit")
        moves = (
            "HEAD and the index move back"
            if shown["moves_head"]
            else "HEAD stays; --commits moves it and the index"
        )
        yield f"  {count} since. {moves}:"
        yield from (f"    {safe(one)}" for one in shown["commits"])
    for name, why in (
        ("others", "left alone, only another session changed it"),
        ("mixed", "left alone, another session changed it too; name it to take it back"),
        ("submodules", "left alone, a repository inside this one"),
        ("not_held", "not kept: too large, or not readable"),
        ("ignored", "changed since and not kept: git ignores it (undo.include)"),
    ):
        found: Sequence[str] = shown[name]  # type: ignore[literal-required]
        for path in found[:SHOWN]:
            yield style(f"  {safe(path)}: {why}", dim=True)
    if shown["other_prompts"]:
        count = plural(shown["other_prompts"], "newer prompt")
        yield style(f"  Of other sessions: {count}; --every-session takes back all", dim=True)


def _title(row: Row, now: int) -> str:
    if row["kind"] != "prompt":
        return f"The {row['kind']} of {ago(row['at'], now)}"
    end = f"  {title_of(row['client'])}, {ago(row['at'], now)}"
    width = terminal_size()[0]
    return f"{_words(row, max(width - len(end), 20) if width else 0)}{end}{_remark(row)}"


def _words(row: Row, width: int = 0) -> str:
    """Return a prompt's first words. opencode puts its own quotes around them."""
    text = row["text"].removeprefix('"').removesuffix('"')
    return f'"{cut(safe(text), width - 2 if width else 0)}"' if text else "(work without a prompt)"


def _remark(row: Row) -> str:
    if row["is_running"]:
        return ", still at work"
    return {
        "interrupted": ", its end was not seen: your edits until the next prompt count as its own",
        "late": ", kept late: its first tool did not wait",
    }.get(row["how"], "")


def list_lines(rows: Sequence[Row], now: int) -> Iterator[str]:
    if not rows:
        yield "No prompt is known here yet."
        return
    shown = []
    for row in rows:
        number = str(row["number"]) if row["number"] else "-"
        size = row["size"]
        change = "at work" if row["is_running"] else ""
        if size is not None:
            change = f"{plural(size['files'], 'file')} +{size['added']} -{size['removed']}"
            if not size["files"]:
                change = "no change"
        state = "undone" if row["kind"] == "prompt" and row["is_undone"] else ""
        what = _words(row) if row["kind"] == "prompt" else row["kind"]
        if row["kind"] == "undo" and not row["is_undone"]:
            what += f", --id {row['id'][:8]} takes it back"
        shown.append([number, ago(row["at"], now), title_of(row["client"]), change, state, what])
    width = terminal_size()[0]
    yield from (cut(line, width) for line in table(shown))
