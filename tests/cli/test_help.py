"""`holdfast --help` fits on one screen, and words that people guess lead to the command that is meant."""

from __future__ import annotations

import pytest

from holdfast.cli.parser import HEADINGS, MORE, verbs
from tests.cli.conftest import Holdfast

MOST_COMMANDS, MOST_LINES, WIDTH = 20, 40, 80


def test_help_is_one_screen_of_at_most_twenty_commands(holdfast: Holdfast) -> None:
    out = holdfast("--help").out
    assert len(out.splitlines()) <= MOST_LINES
    assert max(map(len, out.splitlines())) <= WIDTH
    listed = [verb for verb in verbs().values() if verb.group in HEADINGS]
    assert len(listed) <= MOST_COMMANDS
    for verb in listed:
        assert f"  {verb.name}" in out
        assert verb.line in out, "it is not broken over two lines"


def test_every_other_command_is_listed_with_all(holdfast: Holdfast) -> None:
    short, whole = holdfast("--help").out, holdfast("--all").out
    for verb in verbs().values():
        assert f"\n  {verb.name} " in whole
        assert (f"\n  {verb.name} " in short) == (verb.group not in MORE)


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("continue", "resume"),
        ("search", "find"),
        ("log", "history"),
        ("setup", "init"),
        ("approve", "gate answer"),
        ("budget", "guard"),
        ("sessions", "resume --list"),
    ],
)
def test_a_guessed_word_leads_to_the_command(holdfast: Holdfast, word: str, meant: str) -> None:
    answer = holdfast(word)
    assert answer.code == 2
    assert f"Did you mean {meant}?" in answer.err
