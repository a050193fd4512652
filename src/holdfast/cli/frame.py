"""What every verb has in common: the envelope, the exit codes, the workspace, and good manners."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ParamSpec

import click

from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError, from_os_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace
    from holdfast.kernel.write import Outcome, Writer

Arguments = ParamSpec("Arguments")
SCHEMA = 1
BUG, INTERRUPTED = 70, 130


class Reply:
    """What a verb answers: data for programs, lines for people, and what to do next."""

    def __init__(
        self,
        data: dict[str, Any],
        lines: Iterable[str] = (),
        *,
        next: Sequence[str] = (),
        exit_code: int = 0,
        pages: bool = False,
    ) -> None:
        self.data = data
        self.lines = lines
        self.next = list(next)
        self.exit_code = exit_code
        self.pages = pages


class Call:
    """One call of a verb: where, when, by whom, and how it is to be answered."""

    def __init__(self, folder: str | None, as_json: bool) -> None:
        self.as_json = as_json
        self.now = clock.now()
        self._folder = folder
        self._workspace: Workspace | None = None

    @property
    def workspace(self) -> Workspace:
        if self._workspace is None:
            from holdfast.kernel.workspace import discover

            self._workspace = discover(self._folder)
        return self._workspace

    @property
    def writer(self) -> Writer:
        from holdfast.writing import writer_of

        return writer_of(self.workspace)

    @property
    def actor(self) -> str:
        from holdfast.writing import actor

        return actor()

    def warn(self, message: str) -> None:
        click.echo(click.style("warning: ", fg="yellow") + message, err=True)


def verb(function: Callable[..., Reply]) -> Callable[..., None]:
    """Make a function that returns a Reply into a verb: `--json`, `-C`, one way to fail."""

    @click.option("--json", "as_json", is_flag=True, help="Answer with one JSON envelope.")
    @click.option(
        "-C", "folder", metavar="DIR", help="Work in the workspace of DIR instead of this folder."
    )
    @functools.wraps(function)
    def wrapped(folder: str | None, as_json: bool, **arguments: Any) -> None:
        reply = function(Call(folder, as_json), **arguments)
        if as_json:
            answer = {"schema": SCHEMA, "ok": True, "data": reply.data, "next": reply.next}
            print_json(answer)
        else:
            _print_lines(reply)
        click.get_current_context().exit(reply.exit_code)

    return wrapped


def warn_of_views(call: Call, outcome: Outcome) -> None:
    """A view that could not be written is said, though the record behind it is safe."""
    for view in outcome["views"]:
        if view["status"] == "failed":
            call.warn(f"{view['path']} was not written: {view['reason']}. The record is safe.")


def print_json(value: Any) -> None:
    import json

    click.echo(json.dumps(value, ensure_ascii=False))


def _print_lines(reply: Reply) -> None:
    if reply.pages and sys.stdout.isatty():
        click.echo_via_pager(f"{line}\n" for line in reply.lines)
    else:
        for line in reply.lines:
            click.echo(line)
    if sys.stderr.isatty():
        for command in reply.next:
            click.echo(click.style(f"next: {command}", dim=True), err=True)


class Verbs(click.Group):
    """A group whose commands are modules, imported when they are called."""

    def __init__(self, package: str, names: dict[str, str], **options: Any) -> None:
        super().__init__(**options)
        self._package = package
        self._names = names

    def list_commands(self, context: click.Context) -> list[str]:
        return list(self._names)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self._names:
            return None
        import importlib

        command = importlib.import_module(f"{self._package}.{name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = arguments[0]
        if not name.startswith("-") and name not in self._names:
            raise click.UsageError(f"There is no command {name!r}.{self._nearest(name)}", context)
        return super().resolve_command(context, arguments)

    def _nearest(self, name: str) -> str:
        import difflib

        close = difflib.get_close_matches(name, self._names, n=2, cutoff=0.5)
        return f" Did you mean {' or '.join(close)}?" if close else ""

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of verbs from their one-line descriptions, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self._names.items()))


def run(arguments: Sequence[str]) -> int:
    """Run the command line; the exit code. Whatever fails is said once, in one form."""
    from holdfast.cli.root import root

    as_json = "--json" in arguments
    try:
        try:
            result = root.main(list(arguments), prog_name="holdfast", standalone_mode=False)
            sys.stdout.flush()
            return result if isinstance(result, int) else 0
        except OSError as error:
            if isinstance(error, BrokenPipeError):
                raise
            raise from_os_error(error, f"{error.filename or 'the file system'}") from error
    except BrokenPipeError:
        # The reader went away, as `head` does. Python would complain once more at its own end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except click.exceptions.Exit as exit:
        return exit.exit_code
    except click.ClickException as error:
        return _fail(_from_click(error), as_json, error)
    except HoldfastError as error:
        return _fail(error, as_json)
    except Exception as error:
        return _bug(error, as_json)


def _from_click(error: click.ClickException) -> HoldfastError:
    failure = HoldfastError(error.format_message(), kind="usage")
    failure.exit_code = error.exit_code
    context = getattr(error, "ctx", None)
    failure.hint = f"See `{context.command_path} --help`." if context else ""
    return failure


def _fail(error: HoldfastError, as_json: bool, cause: Exception | None = None) -> int:
    if as_json:
        print_json({"schema": SCHEMA, "ok": False, "error": error.data()})
    else:
        from holdfast.cli.terminal import safe

        click.echo(click.style("error: ", fg="red", bold=True) + safe(error.message), err=True)
        if error.hint:
            click.echo(click.style("hint: ", fg="cyan") + safe(error.hint), err=True)
    return error.exit_code


def _bug(error: Exception, as_json: bool) -> int:
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
