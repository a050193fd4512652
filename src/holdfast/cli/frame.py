"""What all verbs share: the JSON envelope, the exit codes, the workspace, errors and warnings."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.cli.terminal import door, echo, safe, show_for, shown, style
from holdfast.clients.launcher import renew_if_older
from holdfast.kernel import canonical_json, clock, streams
from holdfast.kernel.errors import (
    HoldfastError,
    NotFound,
    StoreAway,
    Usage,
    explain,
    journal_damaged,
)
from holdfast.kernel.private_folder import take_over_old
from holdfast.kernel.text import harmless_json, quote
from holdfast.kernel.workspace import Workspace, discover, from_here

if TYPE_CHECKING:
    from holdfast.journal.interface import Journal
    from holdfast.kernel.commit import Outcome
    from holdfast.kernel.writer import Writer

# A verb, and the values of its words, `folder` and `as_json` with them.
Parsed = tuple[Callable[..., "Reply"], dict[str, Any]]
SCHEMA = 1
OUT_OF_EVERYTHING = "There is not enough memory, or too many files are open. Try again with more."
LINES_AT_ONCE = 500
BUG, INTERRUPTED = 70, 130


class ReaderGone(Exception):
    """The program that read our output has ended, as `head` does. Click would exit with 1."""


@dataclass
class Reply:
    """What a verb answers: data for programs, lines for people, and the commands to run next. `error` is
    for what failed and has a result all the same, such as the report of a checkpoint."""

    data: dict[str, Any]
    lines: Iterable[str] = ()
    next: Sequence[str] = ()
    exit_code: int = 0
    pages: bool = False
    error: HoldfastError | None = None


class Call:
    """One call of a verb: its folder and workspace, its time, its actor, and its output format."""

    def __init__(self, folder: str | None = None, *, as_json: bool) -> None:
        self.as_json = as_json
        self.now = clock.now()
        self._folder = folder
        self._workspace: Workspace | None = None
        show_for(None)
        # Why the server is away, while the call goes on without it, and what the caller reads of that.
        self._away = ""
        self._away_message = ""

    @property
    def folder(self) -> str:
        """The folder of -C, or the current one."""
        return os.path.abspath(from_here(self._folder or ""))

    @property
    def workspace_if_any(self) -> Workspace | None:
        """The workspace of this folder; None where there is none, for what works without one."""
        try:
            return self.workspace
        except NotFound as error:
            if error.kind != "no_workspace":
                raise
            return None

    @property
    def workspace(self) -> Workspace:
        if self._workspace is None:
            self._workspace = discover(self._folder)
            show_for(self._workspace)
            take_over_old(self._workspace)
            if os.path.isdir(os.path.join(self._workspace.private, "pending")):
                from holdfast.hooks import deferred_events

                # What a hook left is part of what this command reads.
                deferred_events.finish_here(self._workspace)
        return self._workspace

    def workspace_for(self, operation: Callable[..., Any]) -> Workspace:
        """The workspace. While its server is away, an operation that works offline gets the same one
        without the server: what it writes is kept on this machine."""
        if self.workspace.url:
            from holdfast.remote.offline import away_message, can_work_offline, reachable

            if can_work_offline(operation):
                self._workspace, self._away = reachable(self.workspace)
                self._away_message = away_message(operation, self._away)
        return self.workspace

    @property
    def journal(self) -> Journal:
        """The journal, for a verb that has nothing to do without one."""
        from holdfast.maintenance.history import require_journal

        return require_journal(self.workspace)

    @property
    def writer(self) -> Writer:
        return streams.open_writer(self.workspace)

    @property
    def actor(self) -> str:
        return streams.actor()

    def answer(self, verb: Callable[..., Reply], **arguments: Any) -> int:
        """Run a verb and print what it replies; the exit code."""
        self._put_back()
        try:
            reply = verb(self, **arguments)
        except HoldfastError as error:
            if self._away:
                from holdfast.remote.offline import add_offline_hint

                raise add_offline_hint(error, self._away) from None
            raise
        if self._away:
            warn(self._away_message)
        if self._workspace is not None and "redact.rules" in self._workspace.ignored_settings:
            # A rule that does not hold, unnoticed, would let secrets through.
            warn(
                "redact.rules of this repository do not count until you trust them: holdfast trust"
            )
        renew_if_older()
        self._forward()
        self._tell_of_resets()
        if self._workspace is not None and self._workspace.is_on_server:
            self._tell_of_loss(self._workspace)
            self._tell_of_alike(self._workspace)
        self._tell_of_damage()
        try:
            if self.as_json:
                answer: dict[str, Any] = {"schema": SCHEMA, "ok": reply.error is None}
                if reply.error is not None:
                    answer["error"] = reply.error.data()
                print_json({**answer, "data": reply.data, "next": reply.next})
            else:
                _print_lines(reply)
            sys.stdout.flush()
        except BrokenPipeError:
            raise ReaderGone from None
        except OSError as error:
            _drop_output()
            raise HoldfastError(
                f"The answer could not be printed: {error.strerror}. What was asked for is done.",
                kind="not_printed",
            ) from error
        return reply.exit_code if reply.error is None else reply.error.exit_code

    def _put_back(self) -> None:
        """Set a stop or an alert again that the records say holds and whose file is gone."""
        try:
            workspace = self.workspace
            if not _has_content(workspace.journal_path):
                return
            from holdfast.people.removed_stops import restore

            for what in restore(workspace, now=self.now):
                warn(f"The file of {what} was removed. It is set again, and recorded.")
        except HoldfastError:
            return  # the verb says what is wrong with the workspace

    def _tell_of_loss(self, workspace: Workspace) -> None:
        """Say that the server lacks what this machine had seen of it, when this command finds it."""
        from holdfast.remote.facts import find_loss, loss_in_words

        loss = find_loss(workspace, self.now)
        if loss is not None and loss["at"] >= clock.precise(self.now):
            warn(f"{loss_in_words(loss)}. `holdfast doctor` says more.")

    def _tell_of_damage(self) -> None:
        """Say what the journal lost, and which snapshots were not believed."""
        workspace = self._workspace
        try:
            if workspace is None or not (
                workspace.is_on_server if workspace.url else _has_content(workspace.journal_path)
            ):
                return
            journal: Any = workspace.journal
            lost = {one["stream"] for one in journal.lost()}
        except HoldfastError:
            return  # the verb has said it
        for stream in sorted(journal.rebuilt):
            warn(
                f"The snapshot of {stream} was changed outside of Holdfast. Its state is made of its "
                "records. `holdfast doctor --fix` makes the journal whole again."
            )
        if lost:
            warn(
                f"Acknowledged records are missing in {', '.join(sorted(lost))}. `holdfast verify` lists "
                "them; `holdfast doctor --fix` brings back what files still show."
            )

    def _tell_of_alike(self, workspace: Workspace) -> None:
        """Say that a journal is empty because the project has another name on the server."""
        journal = workspace.journal
        if not getattr(journal, "is_new", False):
            return
        from holdfast.remote.move import join_hint, list_alike

        try:
            alike = list_alike(workspace, journal)
        except HoldfastError:
            return  # the command itself is done
        if alike:
            name = getattr(journal, "workspace", "")
            warn(
                f"{name} is new on this server, which also has {', '.join(alike)}. {join_hint(alike)}"
            )

    def _tell_of_resets(self) -> None:
        """See to it that people are told when a usage limit ends, also after a restart of the machine."""
        workspace = self._workspace
        if workspace is None or not os.path.isdir(os.path.join(workspace.private, "limits")):
            return
        from holdfast.hooks.question_notices import wake_tellers
        from holdfast.usage.usage_limits import list_limited

        with suppress(HoldfastError, OSError):  # the command itself is done
            wake_tellers(workspace, list_limited(workspace, self.now))

    def _forward(self) -> None:
        """Start the forwarder when something waits for the server."""
        workspace = self._workspace
        if workspace is not None and (workspace.wants_forwarder or workspace.spools):
            from holdfast.remote.offline import start_forwarder

            start_forwarder(workspace)


def _has_content(path: str) -> bool:
    """Whether a journal was made; one that was only begun is not made by a reader."""
    try:
        return os.stat(path).st_size > 0
    except OSError:
        return False


def warn(*messages: str) -> None:
    for message in messages:
        echo(style("warning: ", "yellow") + safe(message), error=True)


def tell_of_new_file(workspace: Workspace, path: str) -> None:
    """Say once that a file is there now, and whether git sees it: it stands in the person's work tree."""
    said = f"{path} is new: holdfast keeps it up to date, and you can edit it."
    if workspace.git_dir:
        from holdfast.git.status import is_ignored

        if is_ignored(workspace.root, path):
            said += " Git leaves it out."
        else:
            said += " Git sees it: commit it, or name it in .gitignore or .git/info/exclude."
    echo(style("note: ", "cyan") + safe(said), error=True)


def warn_of_views(outcome: Outcome) -> None:
    """Warn of each file that could not be written. Its record is safe."""
    for view in outcome["views"]:
        if view["status"] == "failed":
            warn(f"{view['path']} was not written: {view['reason']}. The record is safe.")
        elif view["status"] == "removed" and outcome["records"]:
            back = f"holdfast restore {quote(outcome['records'][-1]['id'][:8])}"
            warn(f"{view['path']} was removed and stays so; `{back}` writes it again.")


def print_json(value: Any) -> None:
    import json

    text = json.dumps(door().redacted(value), ensure_ascii=False)
    sys.stdout.write(f"{harmless_json(text)}\n")


def _print_lines(reply: Reply) -> None:
    if reply.pages and sys.stdout.isatty():
        from click import echo_via_pager

        # As git does: no pager for what fits on the screen, and colours pass through.
        os.environ.setdefault("LESS", "FRX")
        echo_via_pager(shown(f"{text}\n", sys.stdout) for text in _in_pieces(reply.lines))
    else:
        for text in _in_pieces(reply.lines):
            echo(text)
    if sys.stderr.isatty():
        for command in reply.next:
            echo(style(f"next: {command}", dim=True), error=True)


def _in_pieces(lines: Iterable[str]) -> Iterator[str]:
    """Lines together, as a secret of several lines must be seen; but not all of a long history at once."""
    piece: list[str] = []
    for line in lines:
        piece.append(line)
        if len(piece) == LINES_AT_ONCE:
            yield "\n".join(piece)
            piece.clear()
    if piece:
        yield "\n".join(piece)


def run(arguments: Sequence[str]) -> int:
    """Run the command line; the exit code. Every failure is reported once, in one form."""
    as_json = "--json" in arguments
    # The caller may have closed them: the output goes nowhere then, and the work is still done.
    sys.stdout = sys.stdout or _open_nothing()
    sys.stderr = sys.stderr or _open_nothing()
    if sys.stdin is None:
        import io

        sys.stdin = io.TextIOWrapper(io.BytesIO())
    for stream in (sys.stdout, sys.stderr):
        # A file name that is not UTF-8 must not end a command that has done its work.
        getattr(stream, "reconfigure", lambda **_: None)(errors="backslashreplace")
    call: Call | None = None
    try:
        parsed = _parse(list(arguments))
        if isinstance(parsed, int):
            return parsed
        verb, values = parsed
        call = Call(values.pop("folder"), as_json=values.pop("as_json"))
        return call.answer(verb, **values)
    except ReaderGone:
        _drop_output()
        return 0
    except KeyboardInterrupt as interrupt:
        if str(interrupt):
            echo(safe(str(interrupt)), error=True)
        return INTERRUPTED
    except Exception as error:
        click = sys.modules.get("click")
        if click is not None and isinstance(error, click.Abort):
            return INTERRUPTED  # a question that got no answer
        try:
            known = explain(error) or _find_damage(call)
            return _fail(known, as_json) if known is not None else _bug(error, as_json)
        except (ImportError, MemoryError, OSError, SystemError):
            # Not even the report can be made.
            _write_plainly(f"error: {OUT_OF_EVERYTHING}\n")
            return StoreAway.exit_code
    finally:
        show_for(None)


def _with_options_behind(arguments: list[str]) -> list[str]:
    """`-C DIR` and `--json` before the verb, as git takes them, go right behind it, where every verb has them."""
    first: list[str] = []
    rest = arguments
    while rest and rest[0] in ("-C", "--json"):
        count = 2 if rest[0] == "-C" else 1
        first, rest = first + rest[:count], rest[count:]
    if not first or not rest or rest[0].startswith("-"):
        return arguments
    from holdfast.cli.parser import is_nested

    at = 2 if is_nested(rest[0]) else 1
    return [*rest[:at], *first, *rest[at:]]


def _parse(arguments: list[str]) -> Parsed | int:
    """The verb and its arguments; an exit code where click has answered, as it does to --help."""
    arguments = _with_options_behind(arguments)
    if arguments[:1] == ["help"]:  # as git takes it
        arguments = [*arguments[1:], "--help"]
    from holdfast.cli.parser import parse

    return parse(arguments)


def _open_nothing() -> Any:
    """Return a stream that keeps what is written from reaching anyone."""
    try:
        return open(os.devnull, "w", encoding="utf-8")
    except OSError:  # too many open files
        import io

        return io.StringIO()


def _find_damage(call: Call | None) -> HoldfastError | None:
    """Return the damage of the journal that an unexpected failure may come from."""
    workspace = call._workspace if call is not None else None
    if workspace is None or workspace.url or not workspace.exists():
        return None
    from holdfast.journal import chain

    try:
        problems = workspace.journal.damage()
        problems += [
            f"{one['stream']}: {one['broken']}"
            for one in chain.verify(workspace.journal)
            if one["broken"]
        ]
    except Exception as error:
        known = explain(error)
        return known if known is not None and known.kind == "journal_damaged" else None
    if not problems:
        return None
    return journal_damaged(f"The journal at {workspace.journal_path} is damaged: {problems[0]}.")


def _fail(error: HoldfastError, as_json: bool) -> int:
    if as_json and _print_if_possible({"schema": SCHEMA, "ok": False, "error": error.data()}):
        return error.exit_code
    try:
        echo(style("error: ", "red", bold=True) + safe(error.message), error=True)
        if error.hint:
            echo(style("hint: ", "cyan") + safe(error.hint), error=True)
    except Exception:  # a module for it cannot be loaded, or standard error is closed
        _write_plainly(f"error: {error.message}\nhint: {error.hint}\n")
    return error.exit_code


def _write_plainly(text: str) -> None:
    with suppress(OSError):
        os.write(2, text.encode("utf-8", "backslashreplace"))


def _print_if_possible(answer: Any) -> bool:
    """Whether an answer could be printed. If not, the caller prints it to standard error."""
    try:
        # Not by `json`, which may not be loaded yet: there may be no descriptor for its file.
        sys.stdout.write(canonical_json.line(door().value(answer)) + "\n")
        sys.stdout.flush()
    except (MemoryError, OSError):
        _drop_output()
        return False
    return True


def _drop_output() -> None:
    """Send the rest of the buffer to /dev/null: Python would fail to write it at its end, and exit
    with 120."""
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
    except OSError:  # too many open files
        return
    os.dup2(nothing, 1)
    os.close(nothing)


def _bug(error: Exception, as_json: bool) -> int:
    if isinstance(error, UnicodeEncodeError) and error.reason == "surrogates not allowed":
        shown = str(error.object)[:80].encode("utf-8", "replace").decode()
        usage = Usage(
            f"A word, a path or a variable is not UTF-8: {shown}.",
            hint="Holdfast finds records, sessions and folders by names in UTF-8.",
            kind="not_utf8",
        )
        return _fail(usage, as_json)
    if os.environ.get("HOLDFAST_DEBUG"):
        import traceback

        traceback.print_exception(error)
    failure = HoldfastError(
        f"A bug in holdfast: {type(error).__name__}: {error}",
        hint="Set HOLDFAST_DEBUG=1 and run it again for the full trace, then report it.",
        kind="bug",
    )
    _fail(failure, as_json)
    return BUG
