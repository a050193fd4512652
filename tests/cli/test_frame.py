"""The habits that every verb has: envelope, exit codes, hints, safe text."""

from __future__ import annotations

import os
from pathlib import Path

import apsw
import click
import pytest

from holdfast.cli.parser import root, verbs
from holdfast.cli.terminal import ago, one_line, safe, size, unstyle
from holdfast.kernel.clock import DAY, precise
from holdfast.maintenance import status
from tests.cli.conftest import Holdfast


@pytest.mark.usefixtures("repository")
def test_one_envelope_for_success_and_failure(holdfast: Holdfast) -> None:
    good = holdfast("status", "--json").envelope
    assert set(good) == {"schema", "ok", "data", "next"}
    assert (good["schema"], good["ok"]) == (1, True)
    bad = holdfast("show", "nothing", "--json")
    assert bad.err == "", "with --json failures stand on standard output"
    assert set(bad.envelope) == {"schema", "ok", "error"}
    assert set(bad.envelope["error"]) == {"kind", "message", "hint", "retryable"}


@pytest.mark.usefixtures("repository")
def test_an_error_says_what_to_do_on_standard_error(holdfast: Holdfast) -> None:
    answer = holdfast("show", "nothing")
    assert answer.code == 3
    assert "holdfast note" in answer.err, "before the first record: how to begin"
    holdfast("note", "one")
    answer = holdfast("show", "nothing")
    assert answer.code == 3
    assert answer.out == ""
    assert answer.err.startswith("error: ")
    assert "\nhint: " in answer.err


def test_a_mistyped_command_names_the_nearest(holdfast: Holdfast) -> None:
    answer = holdfast("stauts")
    assert answer.code == 2
    assert "Did you mean status" in answer.err
    assert holdfast("stauts", "--json").envelope["error"]["kind"] == "usage"


@pytest.mark.parametrize("words", [["history", "--limit", "many"], ["show"], ["doctor", "--fixx"]])
def test_wrong_words_are_usage_errors(holdfast: Holdfast, words: list[str]) -> None:
    answer = holdfast(*words, "--json")
    assert answer.code == 2
    assert "See `holdfast" in answer.envelope["error"]["hint"]


@pytest.mark.parametrize("name", verbs())
def test_every_verb_has_help_and_json(holdfast: Holdfast, name: str) -> None:
    answer = holdfast(name, "--help")
    assert answer.code == 0
    context = click.Context(root)
    command = root.get_command(context, name)
    inner = command.list_commands(context) if isinstance(command, click.Group) else []
    for words in [[name, verb] for verb in inner] or [[name]]:
        assert "--json" in holdfast(*words, "--help").out
    assert verbs()[name].line.split()[0] in holdfast("--all").out


def test_outside_of_any_workspace(
    holdfast: Holdfast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = holdfast("status", "--json")
    assert answer.code == 3
    assert answer.envelope["error"]["kind"] == "no_workspace"
    assert "git init" in answer.envelope["error"]["hint"]


def test_another_folder_with_dash_c(
    holdfast: Holdfast, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    assert holdfast("status", "-C", str(repository), "--json").data["workspace"] == str(repository)
    assert holdfast("status", "-C", str(repository / "gone")).code == 3


@pytest.mark.usefixtures("repository")
def test_a_newer_journal_is_refused_by_an_older_holdfast(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    other = apsw.Connection(".git/holdfast/journal.db")
    other.execute("PRAGMA user_version = 99").fetchall()
    for words in (["status"], ["history"], ["note", "two"], ["verify"]):
        answer = holdfast(*words, "--json")
        assert answer.code == 1
        assert answer.envelope["error"]["kind"] == "newer_format"
        assert "newer holdfast" in answer.envelope["error"]["hint"]


@pytest.mark.usefixtures("repository")
def test_a_bug_is_called_a_bug(holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(status, "list_attention", broken)
    answer = holdfast("status", "--json")
    assert answer.code == 70
    assert answer.envelope["error"]["kind"] == "bug"


@pytest.mark.usefixtures("repository")
def test_hostile_text_does_not_reach_the_terminal(holdfast: Holdfast) -> None:
    holdfast("note", "red \x1b[31malert\x1b]0;title\x07 and \x9b31m \u202egnp.exe")
    for words in (["history"], ["note"], ["show", "note:default"]):
        shown = holdfast(*words).out
        assert not set(shown) & {"\x1b", "\x07", "\x9b", "\u202e"}


@pytest.mark.usefixtures("repository")
def test_no_color_is_honoured_and_force_color_too(
    holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in holdfast("status").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in holdfast("status").out


@pytest.mark.usefixtures("repository")
def test_a_view_that_cannot_be_written_is_said_and_the_record_is_safe(holdfast: Holdfast) -> None:
    os.makedirs(".notes/default.md")
    answer = holdfast("note", "one")
    assert answer.code == 0
    assert "warning: .notes/default.md was not written" in answer.err
    assert "tester: one" in holdfast("note").out


def test_relative_times() -> None:
    now = 1_800_000_000_000
    assert ago(precise(now), now) == "just now"
    assert ago(precise(now + 9 * DAY), now) == "just now", "clocks step back"
    assert ago(precise(now - 59_000), now) == "59 s ago"
    assert ago(precise(now - 60_000), now) == "1 min ago"
    assert ago(precise(now - 5 * 3_600_000), now) == "5 h ago"
    assert ago(precise(now - DAY), now) == "1 day ago"
    assert ago("never", now) == "never"


def test_small_words() -> None:
    assert size(999) == "999 B"
    assert size(1400) == "1.4 KB"
    assert size(2_500_000_000) == "2.5 GB"
    assert one_line("a\nb  c", 4) == "a b…"
    assert safe("tab\tand\x00nul") == "tab\tand␀nul"
    assert unstyle("\x1b[31mred\x1b[0m text") == "red text"
