"""The command line through click: groups, options, help, nearest matches, and the options that verbs share."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from holdfast.cli.frame import INTERRUPTED, Reply
from holdfast.cli.plain_options import EVERYWHERE, arguments_of, options_of
from holdfast.cli.verb_list import GROUPS, INNER_VERBS, MODULES, VERBS, is_bare
from holdfast.kernel.errors import Usage
from holdfast.version import __version__

if TYPE_CHECKING:
    from holdfast.cli.frame import Parsed

Number = TypeVar("Number", int, float)
epic_option = click.option("--epic", metavar="PATH", help="The epic's folder.")


class TextOrEmpty(click.types.StringParamType):
    """A text that may be empty: it clears a field, or the operation says what it lacks."""


TEXT_OR_EMPTY = TextOrEmpty()
# A command is suggested for a word that is at least so much like it, or the beginning of it.
LIKENESS = 0.7
# The options of a command that has more are only in its help.
MOST_LISTED_OPTIONS = 8
# Words of other programs for commands of ours.
SYNONYMS = {
    "save": "checkpoint",
    "continue": "resume",
    "log": "history",
    "undo": "restore",
    "stop": "estop",
    "sessions": "resume",
    "setup": "init",
    "remove": "uninstall",
}
MODULE_OF = {verb: module for module, verbs in MODULES.items() for verb in verbs}
LONGER_HELP = {"loop": f"{VERBS['loop']} A step that stopped continues at the exact task."}


def verb(function: Callable[..., Reply]) -> Callable[..., Parsed]:
    """Make a function that returns a Reply into a verb with `--json` and `-C`. Click only parses: the
    verb runs after click has returned."""

    json, folder = EVERYWHERE

    @click.option(json[0], json[1], is_flag=True, help=json[3])
    # Empty, it is the current folder, as git's is.
    @click.option(folder[0], folder[1], type=TEXT_OR_EMPTY, metavar="DIR", help=folder[3])
    @functools.wraps(function)
    def parsed(**arguments: Any) -> Parsed:
        _refuse_empty(click.get_current_context(), arguments)
        return function, arguments

    return parsed


def together(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several options as one decorator, in the order of the help."""

    def decorate(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def amount_from(flag: str, text: str | None, read: Callable[[str], Number]) -> Number | None:
    """The number that a flag gives; None without one. `read` raises ValueError."""
    try:
        return None if text is None else read(text)
    except ValueError as problem:
        raise Usage(f"{flag} {problem}.") from None


def _refuse_empty(context: click.Context, arguments: dict[str, Any]) -> None:
    """Refuse an empty value that names something: a script forgot to set the variable."""
    for parameter in context.command.params:
        name = parameter.name or ""
        value = arguments.get(name)
        is_empty = value == "" or (isinstance(value, tuple) and "" in value)
        if not is_empty or isinstance(parameter.type, TextOrEmpty):
            continue
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            leave_out = "" if parameter.required else ", or leave it out"
            hint = f"Give it a value{leave_out}: `{context.command_path} --help`."
            raise Usage(f"{_label(parameter)} is empty.", hint=hint)


def _label(parameter: click.Parameter) -> str:
    """`--session`, or `AGENT` for an argument."""
    if isinstance(parameter, click.Option):
        return next((one for one in parameter.opts if one[:2] == "--"), parameter.opts[0])
    if isinstance(parameter.type, click.Choice) and not parameter.metavar:
        return (parameter.name or "").upper()
    return parameter.human_readable_name.strip("[].")


def from_table(name: str, module: ModuleType) -> click.Command:
    """Build the click command of a plain verb, from the same table that `plain_options` reads."""
    function: Callable[..., Any] = verb(module.answer)
    for option in reversed(options_of(module)):
        function = click.option(
            option.flag,
            option.name,
            # With False, click takes the option without its value.
            is_flag=option.kind == "flag" or None,
            multiple=option.kind == "many",
            type={"number": int, "text or empty": TEXT_OR_EMPTY}.get(option.kind),
            metavar=option.metavar or None,
            help=option.help,
        )(function)
    for argument in reversed(arguments_of(module)):
        function = click.argument(argument)(function)
    return click.command(name)(function)


class VerbGroup(click.Group):
    """A group that answers an unknown word with the nearest commands."""

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, known = arguments[0], self.list_commands(context)
        if name.startswith("-") or name in known:
            return super().resolve_command(context, arguments)
        meant = SYNONYMS.get(name, "")
        near = f"Did you mean {meant}? " if meant in known else _suggest(name, known)
        raise Usage(
            f"There is no command {name!r:.60}.",
            hint=f"{near}See `{context.command_path} --help`.",
        )


def _suggest(word: str, known: Iterable[str]) -> str:
    """`Did you mean resume? `, or nothing where no name is near."""
    names = list(known)
    near = difflib.get_close_matches(word, names, n=2, cutoff=LIKENESS)
    near = near or [name for name in names if word and name.startswith(word)]
    return f"Did you mean {' or '.join(near[:2])}? " if near else ""


class Verbs(VerbGroup):
    """A group of `verb_list`, whose commands are imported when they are called."""

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self._names = INNER_VERBS[name] if name else VERBS

    def list_commands(self, context: click.Context) -> list[str]:
        return list(self._names)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self._names:
            return None
        command = self._command(name)
        command.short_help = self._names[name]
        return command

    def _command(self, name: str) -> click.Command:
        path = f"{self.name} {name}".strip()
        if path in INNER_VERBS:
            return Verbs(name, help=LONGER_HELP.get(name, VERBS[name]))
        module_name = MODULE_OF.get(path) or self.name or name
        module = __import__(f"holdfast.cli.verbs.{module_name}", fromlist=["command"])
        for attribute in (f"{name.replace('-', '_')}_command", "command"):
            if hasattr(module, attribute):
                found: click.Command = getattr(module, attribute)
                return found
        return from_table(name, module)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of verbs from their one-line descriptions, without importing them."""
        for heading, names in ({"Commands": self._names} if self.name else GROUPS).items():
            with formatter.section(heading):
                formatter.write_dl(list(names.items()))


@click.command(
    "",
    cls=Verbs,
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
        message, hint = _in_our_words(error, meant, path)
        raise Usage(message, hint=hint) from None


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


def _in_our_words(error: click.UsageError, command: click.Command, path: str) -> tuple[str, str]:
    """Click's complaint as message and hint."""
    see = f"See `{path} --help`."
    if isinstance(error, click.MissingParameter) and error.param is not None:
        where = _choices(error.param.type) + _place_of_records(path)
        return f"{_label(error.param)} is missing.", where + see
    if isinstance(error, click.BadParameter) and error.param is not None:
        said = _wrong_value(error.message, error.param.type)
        return f"{_label(error.param)}: {said}", _choices(error.param.type, said) + see
    if isinstance(error, click.NoSuchOption):
        return f"There is no option {error.option_name}.", _known_options(
            error.option_name, command
        ) + see
    if isinstance(error, click.BadOptionUsage):
        return _wrong_option(error.option_name, command), see
    extra = error.message.partition("extra argument")[2]
    if extra:
        words = extra.partition("(")[2].removesuffix(")")
        return f"There is no argument for {words!r:.60}.", _option_for(words, command, path) + see
    return error.format_message(), see


def _known_options(word: str, command: click.Command) -> str:
    """The options that are near to a word; where none is, all of a verb's if they are few."""
    known = {
        one: f"{one} {parameter.metavar or ''}".rstrip()
        for parameter in command.params
        for one in parameter.opts
        if one[:2] == "--"
    }
    near = _suggest(word, known)
    if near or isinstance(command, click.Group) or len(known) > MOST_LISTED_OPTIONS:
        return near
    return f"Known are: {', '.join(known.values())}. "


def _option_for(word: str, command: click.Command, path: str) -> str:
    """`holdfast init claude` means `holdfast init --client claude`."""
    for parameter in command.params:
        kind = parameter.type
        if isinstance(kind, click.Choice) and word in map(str, kind.choices):
            return f"Did you mean `{path} {_label(parameter)} {word}`? "
    return ""


def _place_of_records(path: str) -> str:
    takes_record = path in ("holdfast diff", "holdfast restore", "holdfast show")
    return "`holdfast history` lists the records. " if takes_record else ""


def _choices(kind: click.ParamType[Any], said: str = "") -> str:
    """The values that there are, after the one that is near to what was said."""
    if not isinstance(kind, click.Choice):
        return ""
    choices = [str(choice) for choice in kind.choices]
    near = _suggest(said.partition(" is not ")[0].strip("'"), choices) if said else ""
    return f"{near}Known are: {', '.join(choices)}. "


def _wrong_value(said: str, kind: click.ParamType[Any]) -> str:
    """What a value is not, from what click says: it begins with the value."""
    value = said.rpartition(" is not ")[0]
    if isinstance(kind, click.Choice):
        return f"{value} is not known."
    if isinstance(kind, click.types.IntParamType | click.types.FloatParamType):
        wanted = "a whole number" if isinstance(kind, click.types.IntParamType) else "a number"
        least, most = getattr(kind, "min", None), getattr(kind, "max", None)
        limits = f" from {least}" if least is not None else ""
        limits += f" to {most}" if most is not None else ""
        if least is not None and most is None:
            limits = f" of at least {least}"
        return f"{value} is not {wanted}{limits}."
    return said


def _wrong_option(name: str, command: click.Command) -> str:
    """An option without its values, or a flag with one."""
    option = next((one for one in command.params if name in one.opts), None)
    if isinstance(option, click.Option) and option.is_flag:
        return f"{name} takes no value."
    if option is not None and option.nargs > 1:
        return f"{name} needs {option.nargs} values: {option.metavar}."
    return f"{name} needs a value."
