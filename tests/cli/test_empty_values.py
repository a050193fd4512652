"""An empty string is a variable that a script forgot to set. It names nothing, so it is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from holdfast.cli.parser import MAY_BE_EMPTY, root
from tests.cli.conftest import Holdfast

TEXTS = (click.types.StringParamType, click.Path, click.File)


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


def words_for(command: click.Command, empty: click.Parameter) -> tuple[str, list[str]]:
    """What to call the parameter, and a call that leaves only it empty."""
    words, label = [], empty.human_readable_name
    for parameter in command.params:
        count = max(1, parameter.nargs)
        if isinstance(parameter, click.Option):
            if parameter is empty:
                label = next((one for one in parameter.opts if one[:2] == "--"), parameter.opts[0])
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
            if is_text and parameter.name not in MAY_BE_EMPTY:
                label, words = words_for(command, parameter)
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


def test_what_may_be_empty_is_no_name() -> None:
    """Each exception is of a parameter that exists."""
    known = {parameter.name for _, command in verbs() for parameter in command.params}
    assert known >= MAY_BE_EMPTY


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("resume", "--budget", "x"), "'x' is not a whole number from 400."),
        (("resume", "--at-most", "x"), "'x' is not a whole number from 1 to 192."),
        (("agent", "beat", "Secondary-A", "--fence", "x"), "'x' is not a whole number."),
        (
            ("gate", "decide", "Which?", "--option", "a", "b"),
            "Option '--option' requires 4 arguments: ID NAME PROS CONS.",
        ),
    ],
)
def test_a_wrong_value_says_what_to_give(
    repository: Path, holdfast: Holdfast, words: tuple[str, ...], said: str
) -> None:
    answer = holdfast(*words)
    assert answer.code == 2
    assert said in answer.err


def test_an_empty_folder_is_the_current_one_as_with_git(
    repository: Path, holdfast: Holdfast
) -> None:
    assert holdfast("status", "-C", "").code == 0


def test_an_export_that_fails_leaves_no_file(repository: Path, holdfast: Holdfast) -> None:
    holdfast("note", "one")
    assert holdfast("export", "--output", "no/such/folder").code != 0
    assert holdfast("export", "--output", "").code == 2
    assert not list(repository.rglob("*.unfinished"))
