"""The documentation cannot drift: what it says is run, generated, or looked up."""

from __future__ import annotations

import io
import json
import os
import re
import secrets
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from scripts import links, readme, reference

from holdfast.cli.frame import run
from holdfast.cli.parser import parse, verbs
from holdfast.clients.claude import sessions as claude
from holdfast.kernel import config, errors
from tests import warm
from tests.gates import person
from tests.journal.postgres import conftest as server

ROOT = Path(__file__).parent.parent
url = server.url


@pytest.fixture
def git_repository_with_origin(repository: Path) -> Path:
    """A clone: its workspace on a server is known by the address of `origin`."""
    origin = f"https://git.example/{secrets.token_hex(6)}.git"
    subprocess.run(["git", "remote", "add", "origin", origin], cwd=repository, check=True)
    return repository


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [block for name, block in found if name == language]


def test_the_generated_pages_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert reference.main(["--check"]) == 0, capsys.readouterr().err


def test_every_link_leads_somewhere() -> None:
    assert links.problems(ROOT) == []


def test_the_readme_is_read_in_a_minute() -> None:
    text = readme.README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    assert len(text.split()) <= 1000
    for command in ("make demo", "make test"):
        assert f"$ {command} " in text.partition("## Install")[0]


# Decisions, what is looked up or generated, and what contributors read.
NOT_READ = (
    *(f"docs/{name}" for name in ("adr/", "reference/", "figures/")),
    *(f"docs/how-to/add-a-{name}.md" for name in ("client", "feature")),
    *(
        f"docs/{name}.md"
        for name in [
            "files",
            "library",
            "journal",
            "formats",
            "glossary",
            "sizing",
            "continuity",
            "speed",
        ]
    ),
)


def test_the_pages_that_people_read_are_few_words() -> None:
    pages = [path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")]
    read = [page for page in pages if not page.startswith(NOT_READ)]
    assert sum(len((ROOT / page).read_text("utf-8").split()) for page in read) <= 25_000


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(
        "# One\n[a](docs/b.md#two-words) [b](docs/c.md) [c](#two) ![d](e.svg) [f](https://x.invalid)\n"
        "```\n[g](none.md)\n```\n"
    )
    (tmp_path / "docs" / "b.md").write_text(
        "# Two words\n[up](../README.md#one)\n[out](../../x.md)\n"
    )
    assert links.problems(tmp_path) == [
        "README.md:2: docs/c.md is not there",
        "README.md:2: README.md has no section #two",
        "README.md:2: e.svg is not there",
        "docs/b.md:3: ../../x.md is outside of the project",
    ]


def test_the_speed_tables_show_misses_and_peers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readme, "BENCH", tmp_path / "bench.json")
    assert "No figures" in readme.speed()
    row = {"what": "a record", "ratio": 1.39, "base_name": "append", "bar": 1.2, "met": False}
    facts = {"at": "2026-11-17T01:02:03Z", "python": "CPython 3.11.7", "system": "Linux 6.1"}
    facts |= {"processors": 2, "file_system": "ext4"}  # type: ignore[dict-item]
    rows = [{**row, "peers": {"LangGraph": 1.234, "DBOS": "not installed"}}]
    (tmp_path / "bench.json").write_text(json.dumps({**facts, "results": {"record": rows}}))
    said = readme.speed()
    assert said.startswith("Measured on 2026-11-17 with CPython 3.11.7")
    assert said.endswith("| a record | 1.39 | append | 1.2, missed |")
    peers = "LangGraph 1.23, DBOS not installed |"
    assert readme.speed_and_peers().endswith(f"| a record | 1.39 | append | 1.2, missed | {peers}")


def test_every_verb_is_in_the_json_reference() -> None:
    text = (ROOT / "docs/reference/json.md").read_text(encoding="utf-8")
    for name in verbs():
        assert f"`{name}" in text, name


def test_every_exit_code_of_an_error_is_documented() -> None:
    used = {kind.exit_code for kind in reference._descendants(errors.HoldfastError)}
    assert used <= set(reference.EXIT_CODES)


def test_every_setting_and_variable_is_documented() -> None:
    text = (ROOT / "docs/reference/settings.md").read_text(encoding="utf-8")
    for name in [*config.tables().settings, *config.tables().variables]:
        assert f"`{name}`" in text, name


def test_the_title_of_a_decision_is_its_number_and_what_to_do() -> None:
    for page in (ROOT / "docs/adr").glob("0*.md"):
        title = page.read_text(encoding="utf-8").partition("\n")[0]
        assert title.startswith(f"# {page.name[:4]}: "), page.name
        assert title.split()[2] not in ("A", "An", "The", "Of"), title


def test_the_list_of_decisions_explains_each_number_that_is_missing() -> None:
    used = {int(page.name[:4]) for page in (ROOT / "docs/adr").glob("0*.md")}
    text = (ROOT / "docs/adr/README.md").read_text(encoding="utf-8")
    said: set[int] = set()
    for first, last in re.findall(r"(\d{4})(?: to (\d{4}))?", text.partition("<!--")[0]):
        said |= set(range(int(first), int(last or first) + 1))
    assert said == set(range(1, max(used))) - used


def test_how_it_works_names_files_and_functions_that_are_there() -> None:
    text = (ROOT / "docs/how-it-works.md").read_text(encoding="utf-8")
    named = re.findall(r"`([a-z_/]+\.py)`", text)
    assert named
    assert [one for one in named if not (ROOT / "src/holdfast" / one).is_file()] == []
    persist = (ROOT / "src/holdfast/session/checkpoint.py").read_text(encoding="utf-8")
    assert "def _persist(" in persist
    features = {path.parent.name for path in (ROOT / "src/holdfast").glob("*/feature.py")}
    frames = {"cli", "clients", "git", "maintenance", "remote", "trackers", "web"}
    assert {one for one in features - frames if f"`{one}/`" not in text} == set()


def test_the_glossary_has_at_most_25_words_in_order() -> None:
    text = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    words = re.findall(r"^\| ([a-z]+) \|", text, re.MULTILINE)[1:]
    assert words == sorted(set(words))
    assert 20 <= len(words) <= 25


def _commands(page: str) -> list[tuple[str, list[str], int]]:
    """The commands of a page with their words and exit codes; those that need an id, or start a client,
    are left to their tests."""
    found = []
    for block in blocks(page, ""):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            is_run = words[:1] in (["holdfast"], ["echo"]) or words[:2] == ["git", "worktree"]
            if is_run and not {"ID", "FILE", "--in"} & set(words) and "|" not in words:
                code = re.search(r"# exit code (\d+)", line)
                # `purge --matching` asks for the text on standard input, which is empty here, and only a person
                # at a terminal lifts an emergency stop.
                special = {("purge", "--matching"): 2, ("release",): 4}
                expected = special.get(tuple(words[1:3]), 0)
                found.append((line, words, int(code[1]) if code else expected))
    return found


def _shown_commands() -> Iterator[tuple[str, list[str]]]:
    """Every command of holdfast that a page shows, up to where the shell takes over."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        fenced = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        for language, block in fenced:
            prompt = {"console": "$ ", "": "", "sh": "", "bash": ""}.get(language)
            for line in block.replace("\\\n", " ").splitlines():
                if prompt is None or not line.startswith(f"{prompt}holdfast "):
                    continue
                words = shlex.split(line.removeprefix(prompt), comments=True)[1:]
                ends = (place for place, word in enumerate(words) if word[:1] in "|&;<>")
                yield f"{page.relative_to(ROOT)}: {line}", words[: next(ends, len(words))]


def test_every_command_that_a_page_shows_is_understood() -> None:
    wrong, count = [], 0
    for shown, words in _shown_commands():
        count += 1
        try:
            parse(words)
        except errors.Usage as error:
            wrong.append(f"{shown}: {error.message}")
    assert not wrong
    assert count > 150


@pytest.fixture
def begun_session(repository: Path) -> Path:
    """The transcript of a session of Claude Code in this repository, with work still to do."""
    content = readme.begun_session().replace(b"/home/dev/tally", bytes(repository))
    path = Path(claude.folder_of(str(repository))) / "022bdfed-56c0-4976-b946-1579523829e7.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


def test_the_first_command_of_the_readme_works_without_set_up(
    repository: Path, begun_session: Path
) -> None:
    """In a folder that holdfast has never seen it prints the sample's facts and writes nothing."""
    before = sorted(repository.rglob("*"))
    command = blocks("README.md", "")[0].split()
    assert command == ["holdfast", "resume"]
    done = warm.run([sys.executable, "-m", *command], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Holdfast: nothing to compare: no checkpoint of this session. ")
    for fact in ("The CSV export breaks", "Write rows with csv.writer", "unexpectedly found in"):
        assert fact in done.stdout
    assert "The CSV export breaks" in readme.README.read_text(encoding="utf-8")
    (sample,) = re.findall("^````text\\n(.*?)^````$", readme.README.read_text("utf-8"), re.M | re.S)
    assert sample.startswith(
        "Holdfast: the work tree has all edits of this session, which has no checkpoint. "
    )
    assert sorted(repository.rglob("*")) == before


def test_the_samples_of_the_quickstart_are_what_the_commands_print(
    repository: Path, begun_session: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, drifted = (
        block
        for block in blocks("docs/quickstart.md", "console")
        if "Sessions found here" in block or "DRIFTED" in block
    )
    three_hours_ago = time.time() - 3 * 3600 - 60
    os.utime(begun_session, (three_hours_ago, three_hours_ago))
    assert run([]) == 0
    said = capsys.readouterr().out.replace(str(repository), "/home/dev/tally")
    assert f"$ holdfast\n{said}" == first
    assert run(["checkpoint", "--next", "check the line endings of the export"]) == 0
    with (repository / "README.md").open("a") as file:
        file.write("A change from elsewhere.\n")
    capsys.readouterr()
    assert run(["resume"]) == 0
    said = re.sub("Checkpoint [0-9a-f]{12}", "Checkpoint 9f29ca672e33", capsys.readouterr().out)
    begin, changed, _ = drifted.split("…\n")
    assert said.startswith(begin)
    assert changed in said


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/how-to/README.md",
        "docs/how-to/sessions.md",
        "docs/how-to/loop.md",
        "docs/how-to/rfc.md",
        "docs/how-to/gates.md",
        "docs/how-to/budgets.md",
        "docs/how-to/usage.md",
        "docs/how-to/fleet.md",
        "docs/how-to/trust.md",
        "docs/how-to/clients.md",
        "docs/quickstart.md",
        "docs/tutorials/team.md",
    ],
)
def test_the_commands_of_a_page_work_in_their_order(
    repository: Path,
    begun_session: Path,
    page: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    commands = _commands(page)
    assert commands
    assert run(["note", "Something to look at."]) == 0
    for line, (program, *words), expected in commands:
        if program != "holdfast":
            subprocess.run(line, shell=True, check=True, capture_output=True)
            continue
        monkeypatch.setattr(sys, "stdin", io.StringIO())
        assert run(words) == expected, f"{words}: {capsys.readouterr().err}"


def test_the_second_machine_of_the_team_tutorial_works_on_a_real_server(
    git_repository_with_origin: Path,
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The page's commands in their order, with the address of a server that is there; psql is psycopg."""
    assert run(["note", "Written before the move."]) == 0
    here = urlsplit(url)
    role = f"writer_{secrets.token_hex(4)}"
    writer = urlunsplit(here._replace(netloc=f"{role}:agent@{here.hostname}:{here.port}"))
    shown = "@db.example/agents?sslmode=verify-full"
    block = "".join(one for one in blocks("docs/tutorials/team.md", "console") if shown in one)
    for old, new in ((f"postgresql://owner{shown}", url), (f"postgresql://agents_writer{shown}", writer), ("agents_writer", role)):  # fmt: skip
        assert old in block
        block = block.replace(old, new)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'agent'")
        try:
            for line in block.splitlines():
                program, *words = shlex.split(line.removeprefix("$ "), comments=True)
                capsys.readouterr()
                if program == "export":
                    name, _, value = words[0].partition("=")
                    monkeypatch.setenv(name, value)
                    continue
                assert program == "holdfast"
                piped = words.index("|") if "|" in words else len(words)
                assert run(words[:piped]) == 0, f"{words}: {capsys.readouterr()}"
                if words[piped:] == ["|", "psql", "agents"]:
                    connection.execute(capsys.readouterr().out)
            capsys.readouterr()
            assert run(["note", "From the second machine."]) == 0
            assert run(["history"]) == 0
            said = capsys.readouterr().out
            assert "Written before the move." in said
            assert "From the second machine." in said
        finally:
            connection.execute(f"DROP OWNED BY {role}")
            connection.execute(f"DROP ROLE {role}")


@pytest.mark.parametrize(
    "page", ["docs/how-to/loop.md", "docs/how-to/gates.md", "docs/how-to/mcp.md"]
)
def test_the_python_of_a_page_works(repository: Path, page: str) -> None:
    for block in blocks(page, "python"):
        warm.run([sys.executable, "-c", block], check=True, capture_output=True)


def test_the_python_of_the_tutorial_works_in_its_order(repository: Path) -> None:
    program = "\n".join(blocks("docs/tutorials/program.md", "python"))
    done = warm.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "not answered yet" in done.stdout
    assert "Check the totals against the ledger" in done.stdout
    # The program has ended. A person answers, and the program starts again.
    answered = person.answers("send-2026-11-17", "send")
    assert answered.code == 0, answered.screen
    again = warm.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert "the person chose send" in again.stdout
    assert "not answered yet" not in again.stdout


def test_the_file_of_a_run_is_accepted(repository: Path) -> None:
    from holdfast.loop import run_file

    (block,) = blocks("docs/how-to/loop.md", "toml")
    Path("steps.toml").write_text(block, encoding="utf-8")
    plan = run_file.read("steps.toml")
    assert plan.is_per_task("EXECUTE")


def test_the_configuration_of_the_how_to_is_accepted(repository: Path) -> None:
    from holdfast.kernel.workspace import discover

    pages = ("README", "rfc", "gates", "cluster")
    for block in [block for page in pages for block in blocks(f"docs/how-to/{page}.md", "toml")]:
        Path("holdfast.toml").write_text(block, encoding="utf-8")
        config.load(discover())


def test_no_picture_names_a_place_of_the_machine_that_made_it() -> None:
    for picture in (Path(__file__).parents[1] / "docs").rglob("*.svg"):
        assert not re.search(r"/(?:root|home|Users)/", picture.read_text(encoding="utf-8")), picture


def test_contributing_draws_each_folder_and_names_files_that_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    tree, _, answers = text.partition("| floor |")[2].partition("Where is it?")
    folders = {path.parent.name for path in (ROOT / "src" / "holdfast").glob("*/__init__.py")}
    drawn = {name.rstrip("/") for name in re.findall(r"`(\w+/)`", tree)}
    assert drawn == folders
    named = re.findall(r"`([a-z_/]+/[a-z_]+\.py)`", answers.partition("Each feature has")[0])
    assert named
    assert [one for one in named if not (ROOT / "src" / "holdfast" / one).is_file()] == []
