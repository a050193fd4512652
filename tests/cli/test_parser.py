"""What the parser refuses, in our words: empty values that name something, and what no command knows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from holdfast.cli.parser import TextOrEmpty, root
from holdfast.kernel.text import split_words
from tests.cli.conftest import Holdfast

TEXTS = (click.types.StringParamType, click.Path, click.File)
# The texts that may be empty: the operation clears a field, or says what it lacks.
MAY_BE_EMPTY = {
    "agent beat": {"--step", "--recovery", "--phase"},
    "agent send": {"--action", "--details", "--next", "--acknowledge"},
    "checkpoint": {"--title", "--task", "--status", "--remaining", "--blocker", "--next"},
    "estop": {"REASON", "--reason"},
    "gate act": {"ACTION", "--why"},
    "gate decide": {"DECISION", "--context"},
    "gate verify": {"--built", "--how"},
    "loop block": {"REASON"},
    "loop fail": {"REASON"},
    "loop progress": {"--current-task", "--current-issue"},
    "note": {"TEXT"},
    "plan new": {"--title"},
    "release": {"REASON", "--reason"},
    "rfc init": {"--title"},
}
CLICKS_WORDS = re.compile(
    "No such|Missing|Got unexpected|Invalid|requires|does not take|not one of|in the range|not a valid"
)


def verbs(
    command: click.Command = root, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(root)
    if not isinstance(command, click.Group):
        yield path, command
        return
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from verbs(found, (*path, name))


def label_of(parameter: click.Parameter) -> str:
    if isinstance(parameter, click.Option):
        return next((one for one in parameter.opts if one[:2] == "--"), parameter.opts[0])
    return parameter.human_readable_name.strip("[].")


def words_for(command: click.Command, empty: click.Parameter) -> tuple[str, list[str]]:
    """What to call the parameter, and a call that leaves only it empty."""
    words, label = [], label_of(empty)
    for parameter in command.params:
        count = max(1, parameter.nargs)
        if isinstance(parameter, click.Option):
            if parameter is empty:
                words += [label, ""]
            elif parameter.required:
                words += [parameter.opts[0], *["x"] * count]
        elif parameter is empty:
            words.append("")
        elif isinstance(parameter.type, click.Choice):
            words.append(str(parameter.type.choices[0]))
        elif parameter.required:
            words += ["x"] * count
        elif parameter.nargs == 1:
            words.append("x")
    return label, words


def named() -> Iterator[tuple[str, ...]]:
    for path, command in verbs():
        for parameter in command.params:
            is_text = isinstance(parameter.type, TEXTS) and parameter.nargs in (1, -1)
            label, words = words_for(command, parameter)
            allowed = MAY_BE_EMPTY.get(" ".join(path), set()) | {"-C"}
            if is_text and label not in allowed:
                yield (label, *path, *words)


# A pass-through to a client's hooks, which fail no client.
CASES = [case for case in named() if case[1] != "hook"]


def test_every_value_that_names_something_is_refused_when_it_is_empty(
    repository: Path, holdfast: Holdfast
) -> None:
    assert len(CASES) > 150
    before = sorted(path.name for path in repository.iterdir())
    for label, *words in CASES:
        answer = holdfast(*words)
        assert answer.code == 2, (words, answer)
        assert f"{label} is empty" in answer.err, (words, answer)
    assert sorted(path.name for path in repository.iterdir()) == before, "nothing is left behind"


def test_what_may_be_empty_is_a_text_and_not_a_name() -> None:
    found: dict[str, set[str]] = {}
    for path, command in verbs():
        for parameter in command.params:
            if isinstance(parameter.type, TextOrEmpty) and parameter.name != "folder":
                found.setdefault(" ".join(path), set()).add(label_of(parameter))
    assert found == MAY_BE_EMPTY


def test_an_empty_value_of_a_checkpoint_clears_the_field_or_is_refused(
    repository: Path, holdfast: Holdfast
) -> None:
    given = [
        *split_words("--issue ENG-1 --title Dates --mode tdd --task parse"),
        "--status",
        "half",
        "--remaining",
        "print",
        "--blocker",
        "a key",
        "--next",
        "go on",
    ]
    assert holdfast("checkpoint", *given).code == 0
    before = Path(".ccc-progress.md").read_text()
    for option in ("--issue", "--mode", "--done", "--decision"):
        answer = holdfast("checkpoint", option, "", "--json")
        assert (answer.code, answer.envelope["error"]["message"]) == (2, f"{option} is empty.")
    assert Path(".ccc-progress.md").read_text() == before
    cleared = ("--title", "--task", "--status", "--remaining", "--blocker", "--next")
    assert holdfast("checkpoint", *(word for name in cleared for word in (name, ""))).code == 0
    after = Path(".ccc-progress.md").read_text()
    assert "**Issue:** ENG-1 — untitled" in after
    assert "**Execution Mode:** exec:tdd" in after
    for gone in ("Dates", "parse", "half", "print", "a key"):
        assert gone not in after.partition("## Continuation Prompt")[0]


def test_an_emergency_stop_holds_though_a_script_forgot_the_reason(
    repository: Path, holdfast: Holdfast
) -> None:
    assert holdfast("estop", "").code == 0
    assert holdfast("estop", "--reason", "").code == 0


def test_no_blocker_is_resolved_by_a_variable_that_is_not_set(
    repository: Path, holdfast: Holdfast
) -> None:
    Path("epic").mkdir()
    holdfast("agent", "start", "Secondary-A", "--feature", "f", "--epic", "epic")
    holdfast("agent", "block", "Secondary-A", "no key", "--epic", "epic")
    answer = holdfast("agent", "unblock", "Secondary-A", "", "--epic", "epic")
    assert (answer.code, "BLOCKER is empty" in answer.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("history", "--since", "yesterday"), "Known are: --limit, --kind, --before SEQ, --json. "),
        (("history", "--jsn"), "Did you mean --json? "),
        (("edits", "--aply"), "Did you mean --apply? "),
        (("checkpoint", "--xyzzy"), ""),
    ],
    ids=["few", "shared", "near", "many"],
)
def test_an_unknown_option_is_answered_with_those_that_exist(
    repository: Path, holdfast: Holdfast, words: tuple[str, ...], hint: str
) -> None:
    error = holdfast(*words, "--json").envelope["error"]
    assert error["hint"] == f"{hint}See `holdfast {words[0]} --help`."


def wrong_calls() -> Iterator[tuple[tuple[str, ...], tuple[str, ...], str]]:
    """Calls that click refuses, of each kind for each command: the command, the rest, the message."""
    for path, command in verbs():
        words = tuple(words_for(command, click.Argument(["none"]))[1])
        yield path, (*words, "--no-such-option"), "There is no option --no-such-option."
        arguments = [one for one in command.params if isinstance(one, click.Argument)]
        if all(one.nargs == 1 for one in arguments):
            yield path, (*words, "too-much"), "There is no argument for 'too-much'."
        if arguments and arguments[0].required:
            yield path, (), f"{label_of(arguments[0])} is missing."
        for one in command.params:
            label = label_of(one)
            if isinstance(one, click.Option) and one.is_flag:
                yield path, (*words, f"{label}=x"), f"{label} takes no value."
            elif isinstance(one, click.Option) and one.nargs > 1:
                yield path, (*words, label), f"{label} needs {one.nargs} values: {one.metavar}."
            elif isinstance(one, click.Option):
                yield path, (*words, label), f"{label} needs a value."
                if not isinstance(one.type, TEXTS):
                    yield path, (*words, label, "x"), f"{label}: 'x' is not "


def test_every_usage_error_is_in_our_words(repository: Path, holdfast: Holdfast) -> None:
    calls = list(wrong_calls())
    assert len(calls) > 600
    for path, words, said in calls:
        answer = holdfast(*path, *words)
        assert answer.code == 2, (path, words, answer)
        assert answer.err.startswith(f"error: {said}"), (path, words, answer)
        assert "--help`.\n" in answer.err, (path, words, answer)
        assert not CLICKS_WORDS.search(answer.err), (path, words, answer)
        told = holdfast(*path, "--json", *words)
        assert (told.code, told.err) == (2, ""), (path, words, told)
        assert told.envelope["error"]["kind"] == "usage", (path, words, told)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("foo", "See `holdfast --help`."),
        ("resum", "Did you mean resume? See `holdfast --help`."),
        ("stauts", "Did you mean status? See `holdfast --help`."),
        ("check", "Did you mean checkpoint? See `holdfast --help`."),
        ("snapshot creat", "Did you mean create? See `holdfast snapshot --help`."),
        ("journal zzz", "See `holdfast journal --help`."),
        ("tracker snc", "Did you mean sync? See `holdfast tracker --help`."),
        ("gate aks", "See `holdfast gate --help`."),
        ("doctor --fixx", "Did you mean --fix? See `holdfast doctor --help`."),
        ("--zzz", "See `holdfast --help`."),
        ("doctor --zzz", "Known are: --fix, --json. See `holdfast doctor --help`."),
        ("completion", "Known are: bash, zsh, fish. See `holdfast completion --help`."),
        ("completion tcsh", "Known are: bash, zsh, fish. See `holdfast completion --help`."),
    ],
)
def test_a_hint_names_what_is_near_or_all_of_a_few(
    holdfast: Holdfast, words: str, hint: str
) -> None:
    answer = holdfast(*words.split(), "--json")
    assert (answer.code, answer.envelope["error"]["hint"]) == (2, hint)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("resume", "--budget", "x"), "'x' is not a whole number of at least 400."),
        (("resume", "--at-most", "x"), "'x' is not a whole number from 1 to 192."),
        (("agent", "beat", "Secondary-A", "--fence", "x"), "'x' is not a whole number."),
        (
            ("gate", "wait", "x", "--timeout", "-1"),
            "--timeout: -1.0 is not a number of at least 0.",
        ),
        (("checkpoint", "--reason", "x"), "--reason: 'x' is not known."),
        (
            ("gate", "decide", "Which?", "--option", "a", "b"),
            "--option needs 4 values: ID NAME PROS CONS.",
        ),
    ],
)
def test_a_wrong_value_says_what_to_give(
    repository: Path, holdfast: Holdfast, words: tuple[str, ...], said: str
) -> None:
    answer = holdfast(*words)
    assert answer.code == 2
    assert said in answer.err


@pytest.mark.parametrize(
    "words", ["resume --session", "gate wait --phase", "snapshot list --all=x"]
)
def test_an_option_before_the_verb_is_no_value_of_another(
    repository: Path, holdfast: Holdfast, words: str
) -> None:
    answer = holdfast("--json", "-C", str(repository), *words.split())
    assert (answer.code, answer.envelope["error"]["kind"]) == (2, "usage")
    assert " value." in answer.envelope["error"]["message"]


def test_an_empty_folder_is_the_current_one_as_with_git(
    repository: Path, holdfast: Holdfast
) -> None:
    assert holdfast("status", "-C", "").code == 0


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["save"], "Did you mean checkpoint? See `holdfast --help`."),
        (["init", "claude"], "Did you mean `holdfast init --client claude`? See `holdfast init"),
        (["init", "--client", "cluade"], "Did you mean claude? Known are: claude, codex"),
        (["diff"], "`holdfast history` lists the records. See `holdfast diff --help`."),
    ],
)
def test_a_usage_error_names_what_was_meant(
    holdfast: Holdfast, words: list[str], hint: str
) -> None:
    answer = holdfast(*words)
    assert answer.code == 2
    assert f"hint: {hint}" in answer.err


def test_help_is_a_command_as_in_git(holdfast: Holdfast) -> None:
    assert holdfast("help").out == holdfast("--help").out
    assert holdfast("help", "agent", "beat").out == holdfast("agent", "beat", "--help").out
