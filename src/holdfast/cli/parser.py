"""The command line through click: groups, options, help, nearest matches, and the options that verbs share."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from holdfast.cli.frame import INTERRUPTED, Call, Reply
from holdfast.cli.plain_options import EVERYWHERE, arguments_of, options_of
from holdfast.cli.verb_list import GROUPS, MODULES, VERBS, is_bare
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.cli.frame import Parsed

Answer = TypeVar("Answer")
epic_option = click.option("--epic", metavar="PATH", help="The epic's folder.")
fence_option = click.option(
    "--fence", type=int, metavar="N", help="The fence of the life that a script belongs to."
)
yes_option = click.option("--yes", is_flag=True, help="Do it even if the agent may still be alive.")
transcript_option = click.option(
    "--transcript",
    default="",
    metavar="FILE",
    help="The session's transcript; its growth is a sign of life.",
)


# Texts, which may be empty, and -C, which then means the current folder, as git's does. Every other value
# names something, and an empty one is a variable that a script forgot to set.
MAY_BE_EMPTY = frozenset(
    (
        *(
            "folder",
            "text",
            "reason",
            "refusal",
            "decision",
            "action",
            "task",
            "status",
            "next",
            "title",
        ),
        *("done", "remaining", "decisions", "blocker", "blockers", "step", "doing", "current_task"),
        *("current_issue", "notes", "message", "details", "subject", "recovery", "built", "how"),
        *("cause", "context", "why", "error", "issue", "mode", "stage", "phase", "file_note"),
    )
)


def verb(function: Callable[..., Reply]) -> Callable[..., Parsed]:
    """Make a function that returns a Reply into a verb with `--json` and `-C`. Click only parses: the
    verb runs after click has returned."""

    json, folder = EVERYWHERE

    @click.option(json[0], json[1], is_flag=True, help=json[3])
    @click.option(folder[0], folder[1], metavar="DIR", help=folder[3])
    @functools.wraps(function)
    def parsed(**arguments: Any) -> Parsed:
        _refuse_empty(click.get_current_context(), arguments)
        return function, arguments

    return parsed


def _refuse_empty(context: click.Context, arguments: dict[str, Any]) -> None:
    for parameter in context.command.params:
        name = parameter.name or ""
        value = arguments.get(name)
        is_empty = value == "" or (isinstance(value, tuple) and "" in value)
        source = context.get_parameter_source(name)
        if is_empty and name not in MAY_BE_EMPTY and source is ParameterSource.COMMANDLINE:
            label = parameter.human_readable_name
            if isinstance(parameter, click.Option):
                label = next((one for one in parameter.opts if one[:2] == "--"), parameter.opts[0])
            raise Usage(
                f"{label} is empty.",
                hint=f"Give it a value{'' if parameter.required else ', or leave it out'}: "
                f"`{context.command_path} --help`.",
            )


def from_table(name: str, module: ModuleType) -> click.Command:
    """Build the click command of a plain verb, from the same table that `plain_options` reads."""
    function: Callable[..., Any] = verb(module.answer)
    for option in reversed(options_of(module)):
        function = click.option(
            option.flag,
            option.name,
            is_flag=option.kind == "flag",
            multiple=option.kind == "many",
            type=int if option.kind == "number" else None,
            metavar=option.metavar or None,
            help=option.help,
        )(function)
    for argument in reversed(arguments_of(module)):
        function = click.argument(argument)(function)
    return click.command(name)(function)


class Verbs(click.Group):
    """A group whose commands are imported when they are called. `modules` says which module holds which
    verbs, as `<verb>_command`. A verb that it does not name has a module of its own, with `command`."""

    def __init__(
        self,
        package: str,
        names: dict[str, str],
        groups: dict[str, dict[str, str]] | None = None,
        modules: dict[str, tuple[str, ...]] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._package = package
        self._names = names
        self._groups = groups
        self._module_of = {
            verb: module for module, verbs in (modules or {}).items() for verb in verbs
        }

    def list_commands(self, context: click.Context) -> list[str]:
        return list(self._names)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self._names:
            return None
        module_name = self._module_of.get(name, name)
        module = __import__(f"{self._package}.{module_name}", fromlist=["command"])
        attribute = f"{name.replace('-', '_')}_command" if name in self._module_of else "command"
        command: click.Command = getattr(module, attribute, None) or from_table(name, module)
        command.short_help = self._names[name]
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
        for heading, names in (self._groups or {"Commands": self._names}).items():
            with formatter.section(heading):
                formatter.write_dl(list(names.items()))


@click.command(
    cls=Verbs,
    package="holdfast.cli.verbs",
    names=VERBS,
    groups=GROUPS,
    modules=MODULES,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message="holdfast %(version)s")
def root() -> None:
    """Keep what coding agents know about their work.

    Without a command, it says where you are and what to do next. The result is printed to stdout,
    everything else to stderr. Every command takes --json.
    """


def parse(arguments: list[str]) -> Parsed | int:
    """The verb that the words name, and its arguments, or the exit code where click has answered.
    Click's own complaints become ours."""
    command: click.Command = root
    if is_bare(arguments):
        from holdfast.cli.verbs import overview

        command = from_table("holdfast", overview)
        command.add_help_option = False
    try:
        result: Parsed | int | None = command.main(
            arguments, prog_name="holdfast", standalone_mode=False
        )
        return 0 if result is None else result
    except click.exceptions.NoArgsIsHelpError as asked:
        click.echo(asked.format_message())
        return 0
    except click.exceptions.Exit as exit:
        return exit.exit_code
    except click.Abort:
        return INTERRUPTED
    except click.UsageError as error:
        meant, path = _command_of(command, arguments)
        if error.ctx is not None:
            path = error.ctx.command_path
        raise Usage(_in_plain_words(error, meant), hint=f"See `{path} --help`.") from None


def _command_of(command: click.Command, arguments: list[str]) -> tuple[click.Command, str]:
    """The command that the first words name, and these words. Click's parser does not always say it."""
    path = "holdfast"
    for word in arguments:
        found = None
        if isinstance(command, click.Group):
            found = command.get_command(click.Context(command), word)
        if found is None:
            break
        command, path = found, f"{path} {word}"
    return command, path


def _in_plain_words(error: click.UsageError, command: click.Command) -> str:
    """Click's complaint, where its own words do not say what to give."""
    said = error.format_message()
    if isinstance(error, click.BadParameter):
        for ours, theirs in (("a whole number", "integer"), ("a number", "float")):
            said = said.replace(f"is not a valid {theirs} range", f"is not {ours}")
            said = said.replace(f"is not a valid {theirs}", f"is not {ours}")
        kind = error.param.type if error.param is not None else None
        if isinstance(kind, click.IntRange | click.FloatRange) and said.endswith("number."):
            limits = [f"from {kind.min}"] if kind.min is not None else []
            limits += [f"to {kind.max}"] if kind.max is not None else []
            said = " ".join([said.removesuffix("."), *limits]) + "."
    if isinstance(error, click.BadOptionUsage):
        for parameter in command.params:
            if error.option_name in parameter.opts and parameter.nargs > 1 and parameter.metavar:
                said = f"{said.removesuffix('.')}: {parameter.metavar}."
    return said


def confirmed(call: Call, yes: bool, act: Callable[[bool], Answer]) -> Answer:
    """Run `act`; at a terminal, ask the person whether to do it even though the signals do not suffice."""
    try:
        return act(yes)
    except HoldfastError as refusal:
        asked = ("not_known_dead", "much_work")
        if refusal.kind not in asked or call.as_json or not sys.stdin.isatty():
            raise
        click.echo(refusal.message, err=True)
        if not click.confirm("Do it all the same?", err=True):
            raise
    return act(True)
