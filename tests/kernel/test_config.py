"""Settings: where they come from, and how a mistake in them is told."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.journal.sqlite import SqliteJournal
from holdfast.kernel import config
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.workspace import Workspace, discover
from tests.trusting import trust_settings


@pytest.fixture
def workspace(repository: Path) -> Iterator[Workspace]:
    found = discover(str(repository))
    yield found
    found.close()


def write(workspace: Workspace, text: str, name: str = "holdfast.toml") -> None:
    Path(workspace.root, name).write_text(text)


def refusal(workspace: Workspace) -> HoldfastError:
    with pytest.raises(HoldfastError) as refused:
        config.load(workspace)
    assert refused.value.kind == "bad_config"
    return refused.value


def test_without_a_file_everything_has_its_default(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOLDFAST_JOURNAL_FORWARDER")
    monkeypatch.delenv("HOLDFAST_MEMORY_KEEP_DAYS")
    assert config.load(workspace) == {
        name: one.default for name, one in config.tables().settings.items()
    }


def test_a_file_of_its_own_is_read(workspace: Workspace) -> None:
    write(workspace, '[retention]\ndays = 7\n[redact.rules]\nbadge = "[0-9]{6}"\n')
    trust_settings(workspace)

    settings = config.load(workspace)

    assert settings["retention.days"] == 7
    assert settings["retention.keep"] == 200
    assert settings["redact.rules"] == {"badge": "[0-9]{6}"}


def test_a_table_in_pyproject_is_read(workspace: Workspace) -> None:
    write(
        workspace, "[project]\nname = 'x'\n[tool.holdfast.retention]\ndays = 8\n", "pyproject.toml"
    )

    assert config.load(workspace)["retention.days"] == 8


def test_a_pyproject_without_a_table_says_nothing(workspace: Workspace) -> None:
    write(workspace, "[project]\nname = 'x'\n[tool.ruff]\nline-length = 100\n", "pyproject.toml")

    assert config.load(workspace)["retention.days"] == 90


def test_the_file_of_its_own_comes_before_pyproject(workspace: Workspace) -> None:
    write(workspace, "[tool.holdfast.retention]\ndays = 8\n", "pyproject.toml")
    write(workspace, "[retention]\ndays = 7\n")

    assert config.load(workspace)["retention.days"] == 7


def test_the_environment_comes_before_the_file(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(workspace, "[retention]\ndays = 7\nkeep = 3\n")
    monkeypatch.setenv("HOLDFAST_RETENTION_DAYS", "6")

    settings = config.load(workspace)

    assert (settings["retention.days"], settings["retention.keep"]) == (6, 3)


@pytest.mark.parametrize("text", ["", "six", "-1", "1.5", "٣", " 6"])
def test_a_variable_must_be_a_whole_number(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("HOLDFAST_RETENTION_DAYS", text)

    assert "HOLDFAST_RETENTION_DAYS must be a whole number" in refusal(workspace).message


def test_an_unknown_variable_is_refused_with_the_nearest_match(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_RETENTION_DAY", "6")

    assert refusal(workspace).hint == "Did you mean HOLDFAST_RETENTION_DAYS?"


@pytest.mark.parametrize("name", config.tables().variables)
def test_variables_that_are_no_settings_are_known(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "anything")

    config.load(workspace)


def test_a_variable_that_cannot_say_its_setting_is_not_ignored(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody who sets redaction rules there must not believe that they work."""
    monkeypatch.setenv("HOLDFAST_REDACT_RULES", '{"badge": "[0-9]{6}"}')

    assert "HOLDFAST_REDACT_RULES" in refusal(workspace).message


def test_an_unknown_key_is_refused_with_the_nearest_match(workspace: Workspace) -> None:
    write(workspace, "[retention]\ndasy = 7\n")

    error = refusal(workspace)

    assert "holdfast.toml: there is no setting 'retention.dasy'" in error.message
    assert error.hint == "Did you mean retention.days?"


def test_a_key_like_no_other_is_refused_with_the_list(workspace: Workspace) -> None:
    write(workspace, "colour = 'blue'\n")

    assert "retention.days" in refusal(workspace).hint


@pytest.mark.parametrize(
    "text",
    [
        "[retention]\ndays = '7'\n",
        "[retention]\ndays = 7.0\n",
        "[retention]\ndays = true\n",
        "[retention]\ndays = -1\n",
        "[redact]\nrules = 'x'\n",
        "[redact.rules]\nbadge = '['\n",
        "[redact.rules]\nbadge = 7\n",
        "retention = 7\n",
        "[retention]\ndays = {}\n[retention.days.more]\n",
        "this is not TOML\n",
    ],
)
def test_a_mistake_is_refused_and_names_the_file(workspace: Workspace, text: str) -> None:
    write(workspace, text)

    assert "holdfast.toml" in refusal(workspace).message


@pytest.mark.parametrize("text", ["[tool]\nholdfast = 7\n", "tool = 7\n", "[tool.holdfast\n"])
def test_a_mistake_in_pyproject_is_refused_too(workspace: Workspace, text: str) -> None:
    write(workspace, text, "pyproject.toml")

    assert "pyproject.toml" in refusal(workspace).message


def test_bytes_that_are_no_text_are_refused(workspace: Workspace) -> None:
    Path(workspace.root, "holdfast.toml").write_bytes(b"\xff\xfe")

    refusal(workspace)


class CountsParses:
    """How often the TOML parser ran."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        parse = tomllib.loads

        def counted(text: str) -> dict[str, Any]:
            self.count += 1
            return parse(text)

        monkeypatch.setattr(tomllib, "loads", counted)


def test_the_parsed_file_is_kept_in_the_journal(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(workspace, "[retention]\ndays = 7\n[redact.rules]\nbadge = '[0-9]{6}'\n")
    parses, journal = CountsParses(monkeypatch), SqliteJournal(":memory:")

    first, second = config.load(workspace, journal), config.load(workspace, journal)

    assert first == second
    assert first["retention.days"] == 7
    assert parses.count == 1


def test_a_changed_file_is_parsed_again(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, path = SqliteJournal(":memory:"), os.path.join(workspace.root, "holdfast.toml")
    write(workspace, "[retention]\ndays = 7\n")
    config.load(workspace, journal)

    write(workspace, "[retention]\ndays = 8\n")
    # The same size and inode; a coarse clock could even give it the same time.
    os.utime(path, ns=(0, os.stat(path).st_mtime_ns + 1))

    assert config.load(workspace, journal)["retention.days"] == 8


def test_a_removed_file_leaves_the_defaults(workspace: Workspace) -> None:
    journal = SqliteJournal(":memory:")
    write(workspace, "[retention]\ndays = 7\n")
    config.load(workspace, journal)

    os.unlink(os.path.join(workspace.root, "holdfast.toml"))

    assert config.load(workspace, journal)["retention.days"] == 90


def test_the_environment_is_not_kept(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = SqliteJournal(":memory:")
    write(workspace, "[retention]\ndays = 7\n")
    monkeypatch.setenv("HOLDFAST_RETENTION_DAYS", "6")
    config.load(workspace, journal)

    monkeypatch.delenv("HOLDFAST_RETENTION_DAYS")

    assert config.load(workspace, journal)["retention.days"] == 7


def test_two_worktrees_with_one_journal_keep_their_own_settings(
    workspace: Workspace, tmp_path: Path
) -> None:
    journal = SqliteJournal(":memory:")
    second = Workspace(str(tmp_path), git_dir=workspace.git_dir, home=workspace.home)
    write(workspace, "[retention]\ndays = 7\n")
    write(second, "[retention]\ndays = 8\n")

    for _ in range(2):
        assert config.load(workspace, journal)["retention.days"] == 7
        assert config.load(second, journal)["retention.days"] == 8


def test_a_reader_without_the_right_to_write_can_load(workspace: Workspace) -> None:
    from holdfast.journal.sqlite import SqliteJournal

    workspace.journal.put("anything", "")
    write(workspace, "[retention]\ndays = 7\n")
    reader = SqliteJournal(workspace.journal_path, read_only=True)

    assert config.load(workspace, reader)["retention.days"] == 7
    reader.close()
