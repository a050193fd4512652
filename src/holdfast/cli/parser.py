"""The command line through click: groups, options, help, nearest matches, and the options that verbs share."""

from __future__ import annotations

import difflib
import functools
import itertools
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from holdfast import registry
from holdfast.cli.frame import INTERRUPTED, Reply
from holdfast.kernel.errors import Usage
from holdfast.version import __version__

if TYPE_CHECKING:
    from holdfast.cli.frame import Parsed

Number = TypeVar("Number", int, float)
COMPLETION_VARIABLE = "_HOLDFAST_COMPLETE"
epic_option = click.option("--epic", metavar="PATH", help="The epic's folder.")
# An option without a value.
flag = functools.partial(click.option, is_flag=True)


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
    "search": "find",
    "grep": "find",
    "blame": "why",
    "rewind": "undo",
    "revert": "undo",
    "approve": "gate answer",
    "answer": "gate answer",
    "inbox": "gate list",
    "budget": "guard",
    "stop": "estop",
    "sessions": "resume --list",
    "setup": "init",
    "limit": "guard",
    "install": "init",
    "remove": "uninstall",
    "web": "serve",
    "ui": "serve",
    "help": "--help",
}
# The headings of `holdfast --help`, in their order. A feature may add another.
HEADINGS = ("Continue", "Remember", "Undo", "Wait and approve", "Many agents", "Look after")
# What only `holdfast --all` lists.
MORE = ("Sessions and plans", "The journal", "Clients and shells")


def verb(function: Callable[..., Reply]) -> Callable[..., Parsed]:
    """Make a function that returns a Reply into a verb with `--json` and `-C`. Click only parses: the
    verb runs after click has returned."""

    @click.option("--json", "as_json", is_flag=True, help="Print one JSON envelope.")
    # Empty, it is the current folder, as git's is.
    @click.option(
        "-C",
        "folder",
        type=TEXT_OR_EMPTY,
        metavar="DIR",
        help="Use the workspace of DIR instead of the current folder.",
    )
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


def text_option(name: str, metavar: str, help: str) -> Callable[[Any], Any]:
    """Return an option with a text; empty without it."""
    return click.option(name, default="", metavar=metavar, help=help)


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


class VerbGroup(click.Group):
    """A group that answers an unknown word with the nearest commands."""

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = arguments[0]
        if name.startswith("-") or self.get_command(context, name) is not None:
            return super().resolve_command(context, arguments)
        known = self.list_commands(context)
        meant = SYNONYMS.get(name, "")
        is_known = meant.startswith("-") or meant.partition(" ")[0] in known
        near = f"Did you mean {meant}? " if meant and is_known else _suggest(name, known)
        raise Usage(
            f"There is no command {name!r:.60}.", hint=f"{near}See `{context.command_path} --help`."
        )

    def shell_complete(self, context: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands that begin so, without importing them; of options, what click says."""
        if incomplete.startswith("-"):
            return super().shell_complete(context, incomplete)
        lines = self.command_lines()
        return [
            CompletionItem(name, help=line)
            for name, line in lines.items()
            if name.startswith(incomplete)
        ]

    def command_lines(self) -> dict[str, str]:
        """Return the commands, each with its line in the help."""
        return {}


def _suggest(word: str, known: Iterable[str]) -> str:
    """`Did you mean resume? `, or nothing where no name is near."""
    names = list(known)
    near = difflib.get_close_matches(word, names, n=2, cutoff=LIKENESS)
    near = near or [name for name in names if word and name.startswith(word)]
    return f"Did you mean {' or '.join(near[:2])}? " if near else ""


def verbs() -> dict[str, registry.Verb]:
    """Return the verbs of all features, in the order of the help."""
    found = [verb for feature in registry.all_features() for verb in feature.verbs]
    others = (verb.group for verb in found if verb.group not in MORE)
    groups = list(dict.fromkeys((*HEADINGS, *others, *MORE)))
    return {verb.name: verb for verb in sorted(found, key=lambda verb: groups.index(verb.group))}


def find_verb(name: str) -> registry.Verb | None:
    """Return a verb by its name. Only where no built-in feature has it, those of others are loaded."""
    for feature in registry.features():
        for verb in feature.verbs:
            if verb.name == name:
                return verb
    return verbs().get(name)


class Verbs(VerbGroup):
    """The verbs of the features, imported when they are called."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(verbs())

    def command_lines(self) -> dict[str, str]:
        return {verb.name: verb.line for verb in verbs().values()}

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        verb = find_verb(name)
        if verb is None:
            return None
        command = InnerVerbs(verb) if verb.inner else find_command(verb.module, name)
        command.short_help = verb.line
        return command

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs with their one-line descriptions, without importing them."""
        shows_all = context.meta.get(ALL, False)
        for group, found in itertools.groupby(verbs().values(), key=lambda verb: verb.group):
            if shows_all or group not in MORE:
                with formatter.section(group):
                    formatter.write_dl([(verb.name, verb.line) for verb in found])
        formatter.write_paragraph()
        formatter.write_text(
            "`holdfast COMMAND -h` explains a command."
            if shows_all
            else "`holdfast COMMAND -h` explains a command; `holdfast --all` lists the others."
        )


class InnerVerbs(VerbGroup):
    """The verbs of a verb, such as those of `agent`."""

    def __init__(self, verb: registry.Verb) -> None:
        super().__init__(verb.name, help=verb.help or verb.line)
        self._verb = verb

    def list_commands(self, context: click.Context) -> list[str]:
        return list(self._verb.inner)

    def command_lines(self) -> dict[str, str]:
        return dict(self._verb.inner)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self._verb.inner:
            return None
        command = find_command(self._verb.modules.get(name, self._verb.module), name)
        command.short_help = self._verb.inner[name]
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self._verb.inner.items()))


def is_nested(name: str) -> bool:
    """Return whether a verb has verbs of its own."""
    verb = find_verb(name)
    return verb is not None and (
        bool(verb.inner) or isinstance(find_command(verb.module, name), click.Group)
    )


def find_command(module: str, name: str) -> click.Command:
    """Return a verb of a module: `<verb>_command`, or `command`."""
    found = registry.load(module)
    command: click.Command = getattr(found, f"{name.replace('-', '_')}_command", None) or (
        found.command
    )
    return command


ALL = "holdfast.all"


def _list_all(context: click.Context, _option: click.Parameter, is_given: bool) -> None:
    if is_given:
        context.meta[ALL] = True
        click.echo(context.get_help())
        context.exit()


@click.command(
    "",
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"]},
    options_metavar="[--all] [--version]",
)
@click.version_option(__version__, message="holdfast %(version)s")
@click.option("--all", is_flag=True, is_eager=True, expose_value=False, callback=_list_all)
def root() -> None:
    """Keep what coding agents know about their work, and continue it.

    Without a command, it says what to do next. Each takes --json and -h.
    """


def parse(arguments: list[str]) -> Parsed | int:
    """The verb that the words name, and its arguments, or the exit code where click has answered.
    Click's own complaints become ours."""
    command: click.Command = root
    # A shell that completes a word runs the command without arguments.
    is_completing = COMPLETION_VARIABLE in os.environ
    if not is_completing and (not arguments or arguments[0] in ("--json", "-C")):
        from holdfast.cli.verbs.overview import command
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
        takes_record = path in ("holdfast diff", "holdfast restore", "holdfast show")
        records = "`holdfast history` lists the records. " if takes_record else ""
        where = _choices(error.param.type) + records
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
