"""Journals on a real server, and the command line with its URL set."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import psycopg
import pytest

from holdfast.journal.postgres.journal import PostgresJournal
from holdfast.kernel.streams import LOCAL_EFFECTS
from tests.cli import conftest as command_line
from tests.journal.postgres.database import at_database, database_url
from tests.journal.postgres.proxy import Network

if TYPE_CHECKING:
    Open = Callable[..., PostgresJournal]


holdfast = command_line.holdfast


@pytest.fixture
def url() -> str:
    """A database that is shared with the other tests of this process."""
    return database_url()


@pytest.fixture
def empty_database() -> Iterator[str]:
    """A database where nothing was made yet."""
    name = f"empty_{secrets.token_hex(6)}"
    with psycopg.connect(database_url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield at_database(database_url(), name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def workspace_name() -> str:
    return f"example.com/{secrets.token_hex(6)}"


@pytest.fixture
def open_journal(url: str, workspace_name: str) -> Iterator[Open]:
    """The same workspace, opened as often as asked for: by another machine, or through a network."""
    opened: list[PostgresJournal] = []

    def open(machine: str = "one", *, at: str = "") -> PostgresJournal:
        opened.append(
            PostgresJournal(at or url, workspace_name, machine, local_effects=LOCAL_EFFECTS)
        )
        return opened[-1]

    yield open
    for journal in opened:
        journal.close()


@pytest.fixture
def network(url: str) -> Iterator[Network]:
    with Network(url) as network:
        yield network


@pytest.fixture
def on_server(url: str, workspace_name: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a user sets: every command now goes to the server."""
    monkeypatch.setenv("HOLDFAST_URL", url)
    monkeypatch.setenv("HOLDFAST_JOURNAL_WORKSPACE", workspace_name)
    return url
