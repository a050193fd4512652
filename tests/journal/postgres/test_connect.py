"""When there is no connection: who has to act, the exit code, and never the password."""

from __future__ import annotations

import contextlib
import gc
import os
import secrets
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
import pytest

from holdfast.journal.postgres import connect
from holdfast.journal.postgres.journal import PostgresJournal
from holdfast.journal.postgres.url import has_password, without_password
from holdfast.kernel import trust
from holdfast.kernel.errors import HoldfastError, StoreAway
from holdfast.kernel.workspace import discover
from tests.cli.conftest import Holdfast
from tests.journal.postgres.database import GIVEN, at_database
from tests.journal.postgres.proxy import Network
from tests.journal.postgres.serve import Server
from tests.trusting import trust_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

SECRET = "swordfish/ä@%"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that asks for passwords and has few connections."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="holdfast-guarded-") as folder:
        Path(folder).chmod(0o755)
        server = Server(
            Path(folder) / "server",
            "max_connections=8",
            "superuser_reserved_connections=0",
            "reserved_connections=0",
            auth="scram-sha-256",
        )
        server.make()
        server.start()
        with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE ROLE writer LOGIN PASSWORD '{SECRET}'")
            connection.execute("CREATE DATABASE journals OWNER writer")
        yield server
        server.stop()


@pytest.fixture(autouse=True)
def no_connection_of_the_test_before() -> None:
    """The server has eight. A command in this process leaves its own to the garbage."""
    gc.collect()


def with_password(url: str, password: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(
        parts._replace(netloc=f"writer:{quote(password, '')}@{parts.hostname}:{parts.port}")
    )


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_the_right_password_opens_it(
    guarded: Server, repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_URL", guarded.url("journals", "writer", SECRET))
    assert holdfast("note", "found it").code == 0
    for words in (
        ["status"],
        ["doctor"],
        ["history"],
        ["export"],
        ["verify"],
        ["status", "--json"],
    ):
        answer = holdfast(*words)
        assert answer.code == 0
        for spelling in (SECRET, quote(SECRET, ""), "swordfish"):
            assert spelling not in answer.out + answer.err
    assert "found it" in holdfast("history").out


def urls(guarded: Server) -> dict[str, tuple[str, int, str]]:
    """Name: URL, exit code and kind."""
    whole = guarded.url("journals", "writer", SECRET)
    return {
        "wrong password": (with_password(whole, "swordfish2"), 4, "wrong_password"),
        "wrong database": (at_database(whole, "nowhere"), 3, "no_database"),
        "unknown role": (guarded.url("journals", "stranger", SECRET), 4, "wrong_password"),
        "server away": (
            whole.replace(f":{guarded.port}/", f":{closed_port()}/"),
            75,
            "store_away",
        ),
        "unknown host": (whole.replace("127.0.0.1", "nowhere.invalid"), 75, "store_away"),
        "no TLS there": (f"{whole}?sslmode=require", 4, "certificate_refused"),
        "raw % in the password": (
            f"postgresql://writer:swordfish%zz@127.0.0.1:{guarded.port}/journals",
            2,
            "bad_url",
        ),
        "forgotten host": ("postgresql://writer:swordfish/journals", 2, "bad_url"),
        "raw @ in the password": (
            f"postgresql://writer:trout@pike@127.0.0.1:{guarded.port}/journals",
            2,
            "bad_url",
        ),
        "raw / in the password": (
            f"postgresql://writer:1/pike@127.0.0.1:{guarded.port}/journals",
            2,
            "bad_url",
        ),
        "unknown option": (f"{whole}?swordfish=1", 2, "bad_url"),
        "another scheme": ("mysql://writer:swordfish@127.0.0.1/journals", 2, "bad_url"),
        "no scheme": ("writer:swordfish@127.0.0.1/journals", 2, "bad_url"),
    }


CASES = (
    "wrong password",
    "wrong database",
    "unknown role",
    "server away",
    "unknown host",
    "no TLS there",
    "raw % in the password",
    "forgotten host",
    "unknown option",
    "raw @ in the password",
    "raw / in the password",
    "another scheme",
    "no scheme",
)


@pytest.mark.parametrize("case", CASES)
def test_a_failure_has_its_exit_code_and_keeps_the_password(
    case: str,
    guarded: Server,
    repository: Path,
    holdfast: Holdfast,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url, code, kind = urls(guarded)[case]
    monkeypatch.setenv("HOLDFAST_URL", url)
    answer = holdfast("history", "--json")
    assert (answer.code, answer.envelope["error"]["kind"]) == (code, kind)
    assert answer.envelope["error"]["hint"]
    plain, examined = holdfast("status"), holdfast("doctor")
    assert plain.code == (0 if code == 75 else code), (
        "what this machine knows is shown all the same"
    )
    assert examined.code != 70
    for said in (answer, plain, examined):
        for spelling in ("swordfish", "trout", "pike", SECRET, quote(SECRET, "")):
            assert spelling not in said.out + said.err


def test_the_bug_report_of_an_uncaught_error_has_no_password(
    guarded: Server, repository: Path
) -> None:
    """Not even the full trace, which prints what the locals' repr says."""
    url = guarded.url("nowhere", "writer", SECRET)
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", "note", "x"],
        env={**os.environ, "HOLDFAST_URL": url, "HOLDFAST_DEBUG": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 3
    assert "swordfish" not in done.stdout + done.stderr
    journal = PostgresJournal(guarded.url("journals", "writer", SECRET), "w", "")
    assert "swordfish" not in repr(journal)
    journal.close()


def take_every_connection(url: str, held: contextlib.ExitStack) -> None:
    """Also those that others closed just now: the server frees their slots a little later."""
    taken = refused = 0
    while refused < 5:
        try:
            held.enter_context(psycopg.connect(url))
        except psycopg.OperationalError:
            refused += 1
            time.sleep(0.05)
        else:
            refused = 0
            taken += 1
    assert 0 < taken < 9


def test_no_connection_left_is_waited_for_and_then_said(
    guarded: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = guarded.url("journals", "writer", SECRET)
    with contextlib.ExitStack() as held:
        take_every_connection(url, held)
        monkeypatch.setattr(connect, "PATIENCE_SECONDS", 0.2)
        with pytest.raises(StoreAway) as refused:
            PostgresJournal(url, "full", "")
        assert refused.value.kind == "store_busy"
        assert refused.value.exit_code == 75
        monkeypatch.setattr(connect, "PATIENCE_SECONDS", 30.0)
        given_back = threading.Timer(0.3, held.close)
        given_back.start()
        PostgresJournal(url, "full", "").close()
        given_back.join()


def test_a_slow_server_is_waited_for(
    url: str, repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Network(url) as network:
        network.delay = 0.1
        monkeypatch.setenv("HOLDFAST_URL", network.url)
        assert holdfast("note", "slowly").code == 0
    monkeypatch.setenv("HOLDFAST_URL", url)
    assert "slowly" in holdfast("history").out


@pytest.mark.proof
def test_a_server_that_takes_two_seconds_for_each_answer_is_waited_for(
    url: str, repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Network(url) as network:
        network.delay = 2
        monkeypatch.setenv("HOLDFAST_URL", network.url)
        assert holdfast("note", "slowly").code == 0


@pytest.mark.skipif(
    bool(GIVEN),
    reason="The server was given, and is not stopped: a server that ends was NOT tried.",
)
def test_a_restart_under_a_command_is_waited_for() -> None:
    import tempfile
    import threading

    from holdfast.testing.journal.examples import write

    with tempfile.TemporaryDirectory(prefix="holdfast-restart-") as folder:
        Path(folder).chmod(0o755)
        server = Server(Path(folder) / "server")
        server.make()
        server.start()
        try:
            journal = PostgresJournal(server.url("postgres"), "w", "")
            write(journal, "note:plan")
            server.stop()
            restart = threading.Timer(0.3, server.start)
            restart.start()
            write(journal, "note:plan")
            restart.join()
            assert len(journal.read("note:plan")) == 2
            journal.close()
        finally:
            server.stop()


def test_a_database_of_another_encoding_is_refused(url: str) -> None:
    name = f"latin_{secrets.token_hex(4)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            f"CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0"
        )
        with pytest.raises(HoldfastError) as refused:
            PostgresJournal(at_database(url, name), "w", "")
        assert refused.value.kind == "bad_encoding"
        connection.execute(f"DROP DATABASE {name}")


SHOWN = {
    "postgresql://ada:pw@db.example:5432/agents?sslmode=require": "postgresql://ada@db.example:5432/agents",
    "postgresql://ada@db/agents?password=pw": "postgresql://ada@db/agents",
    "postgresql:///agents?host=/run&password=pw": "postgresql:///agents",
    "postgres://ada:p/w@db/agents": "postgres://ada@db/agents",
    "postgres://ada:p@w@db/agents": "postgres://ada@db/agents",
    "postgres://ada:p?w@[::1]:5432,h2:1/agents": "postgres://ada@[::1]:5432,h2:1/agents",
    "postgres://ada:pw/agents": "postgres://ada:.../agents",
    "ada:pw@db": "(not shown: it may hold a password)",
}


@pytest.mark.parametrize("url", SHOWN)
def test_what_is_shown_of_a_url(url: str) -> None:
    assert without_password(url) == SHOWN[url]


def test_a_settings_file_holds_no_password(url: str, repository: Path, holdfast: Holdfast) -> None:
    assert has_password(url)
    Path("holdfast.toml").write_text(f'[journal]\nurl = "{url}"\n')
    answer = holdfast("note", "x")
    assert (answer.code, "password" in answer.err) == (1, True)
    assert url not in answer.err


def test_a_settings_file_names_the_server(
    guarded: Server, repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", SECRET)
    place = f"postgresql://writer@127.0.0.1:{guarded.port}/journals"
    Path("holdfast.toml").write_text(f'[journal]\nurl = "{place}"\nworkspace = "ours"\n')
    trust.trust(discover(), place, "2026-01-15T15:00:00Z")
    refused = holdfast("note", "under another name", "--json").envelope["error"]
    assert refused["kind"] == "untrusted_setting"
    trust_settings()
    assert holdfast("note", "from the file").code == 0
    assert holdfast("status", "--json").data["journal"]["path"] == place
    monkeypatch.setenv("HOLDFAST_URL", "")
    here = holdfast("status", "--json").data["journal"]
    assert here["path"].endswith(".git/holdfast/journal.db"), "empty means the file"
    # The file beside a server's journal holds what this machine must know, and no record.
    assert holdfast("history", "--json").data["records"] == []
