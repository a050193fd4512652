"""Fixtures for all tests: a repository to work in, and every kind of journal."""

from __future__ import annotations

import atexit
import functools
import gc
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from holdfast.kernel.text import split_words
from holdfast.kernel.workspace import discover
from holdfast.testing.journal import Store
from tests.journal.conformance.stores import STORES
from tests.journal.postgres.database import drop
from tests.trees import copy_tree

if TYPE_CHECKING:
    from holdfast.journal.interface import Journal

Git = Callable[..., str]
IDENTITY = (
    "-c",
    "user.name=holdfast tests",
    "-c",
    "user.email=tests@holdfast.invalid",
    *split_words("-c init.defaultBranch=main"),
    # Each commit and merge would start two more processes that look for work.
    *split_words("-c gc.auto=0 -c maintenance.auto=false"),
)

# A loaded machine is slow, not wrong. `make proof` looks at many more examples.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("usual", UNHURRIED, max_examples=10)
settings.register_profile("thorough", UNHURRIED, max_examples=1000)
settings.load_profile("usual")
# What one test may take of `make proof`. What is slow for a thousand examples gets as many as fit.
THOROUGH_SECONDS = 60.0


# All that a test may see of the machine: where programs are, and what pytest tells its workers.
KEPT = split_words(
    "PATH TMPDIR CI USER LOGNAME PYENV_ VIRTUAL_ENV LD_LIBRARY_PATH PYTEST_ "
    "HYPOTHESIS_ COVERAGE_ HOLDFAST_TEST_URL HOLDFAST_PROOF_"
)
SET = {
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    # A test that wants one starts it, and ends it.
    "HOLDFAST_JOURNAL_FORWARDER": "false",
    "HOLDFAST_MEMORY_KEEP_DAYS": "0",
}


TESTS = Path(__file__).parent
MEMORY = "/dev/shm"
MEMORY_NEEDED = 2 * 1024**3


def _memory_folder() -> str:
    """A file system in memory with room for the tests, where programs may be started; or nothing.

    The tests write some hundred thousand small synced files. On a disk that was a third of their CPU
    time and most of their waiting. No test that runs here is about the disk itself: those mount
    their own file system, and `make proof` sets TMPDIR.
    """
    try:
        found = os.statvfs(MEMORY)
    except OSError:
        return ""
    usable = os.access(MEMORY, os.W_OK) and not found.f_flag & os.ST_NOEXEC
    return MEMORY if usable and found.f_bavail * found.f_frsize > MEMORY_NEEDED else ""


def _leave_the_machine_behind() -> None:
    """Tests and what they start do not depend on who runs them: environment, umask, time zone, and
    the signals that `nohup make test &` has set to be ignored."""
    for name in [name for name in os.environ if not name.startswith(KEPT)]:
        del os.environ[name]
    os.environ.update(SET)
    if "TMPDIR" not in os.environ and (memory := _memory_folder()):
        os.environ["TMPDIR"] = memory
        tempfile.tempdir = None  # it is decided anew
    time.tzset()
    os.umask(0o022)
    # Not SIGHUP: it would end a run whose terminal was closed, which is what nohup is for.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    home = tempfile.mkdtemp(prefix="holdfast-tests-home-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    os.environ["HOME"] = home
    # One for all tests: the first process that a test starts need not compile what others had.
    os.environ["XDG_CACHE_HOME"] = os.path.join(home, "cache")


_leave_the_machine_behind()


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The tests in a browser come first. One worker then takes them all, and starts one Chromium:
    idle workers take over tests from the end."""
    matrices = [item for item in items if item.get_closest_marker("matrix")]
    for _, cases in itertools.groupby(matrices, lambda item: item.nodeid.partition("[")[0]):
        leave_combinations_to_the_proof(list(cases))
    # Those of the whole project are long: the last of a run is a short one.
    items.sort(key=lambda item: item.path.parent != TESTS)
    items.sort(key=lambda item: "browser" not in getattr(item, "fixturenames", ()))
    if config.getoption("--hypothesis-profile") == "thorough":
        for test in {getattr(item, "function", None) for item in items}:
            if (handle := getattr(test, "hypothesis", None)) is not None:
                handle.inner_test = _bounded(handle.inner_test)


def leave_combinations_to_the_proof(cases: list[pytest.Item]) -> None:
    """Of a test that is marked as a `matrix`, `make test` runs as many cases as it takes to have each
    value of each parameter once. `make proof` runs each combination of them."""
    cases = [case for case in cases if not _is_proof(case)]
    values = {case: set(map(repr, case.callspec.params.items())) for case in cases}  # type: ignore[attr-defined]
    missing = set().union(*values.values())
    while missing:
        best = max(cases, key=lambda case: len(values[case] & missing))
        missing -= values[best]
        cases.remove(best)
    for case in cases:
        case.add_marker(pytest.mark.proof)


def _is_proof(case: pytest.Item) -> bool:
    return case.get_closest_marker("proof") is not None


def _bounded(test: Callable[..., None]) -> Callable[..., None]:
    """Nothing is tried any more once its time is over. A failure is shrunk to its end."""
    end = float("inf")

    @functools.wraps(test)
    def run(*words: object, **named: object) -> None:
        nonlocal end
        if end == float("inf"):
            end = time.monotonic() + THOROUGH_SECONDS
        if time.monotonic() > end > 0:
            return
        try:
            test(*words, **named)
        except Exception:
            end = 0.0
            raise

    return run


MOST_AGAIN = 2


def pytest_sessionfinish(session: pytest.Session) -> None:
    """CI tries a test that failed once more. More than a few of these are a race, and fail the run."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or session.exitstatus:  # a worker, or failed already
        return
    again = len(reporter.stats.get("rerun", ()))
    if again > MOST_AGAIN:
        reporter.write_line(f"{again} tests passed only when they were tried again.", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Each worker makes ten thousand tests, none of which is garbage: looking for some takes an eighth of
    the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Collect no garbage among the tests themselves. A process that is forked without an exec, as the
    keeper of a program is, would otherwise get its own copy of nearly every page."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def nothing_of_the_developer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A home and a list of workspaces for each test; no server of the developer's own."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("HOLDFAST_TEST_URL", raising=False)


PROJECT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# What holdfast makes in the folder that it works in.
TRACES = split_words(
    ".holdfast .notes .autopilot .ohrfc .ccc-progress.md .ccc-state.json "
    "agent_checkpoints agent_comms conductor"
)


def traces_in(root: str) -> set[str]:
    """The files and folders of holdfast in a repository."""
    git_folder = os.path.join(root, ".git")
    if os.path.isfile(git_folder):  # a linked worktree
        git_folder = discover(root).git_dir
    paths = [os.path.join(git_folder, "holdfast"), *(os.path.join(root, one) for one in TRACES)]
    return {path for path in paths if os.path.lexists(path)}


@pytest.fixture(scope="session")
def traces_before() -> set[str]:
    """A developer may use holdfast for this project."""
    return traces_in(PROJECT)


@pytest.fixture(autouse=True)
def nothing_in_the_project(traces_before: set[str]) -> Iterator[None]:
    """No test works in the project's own repository."""
    yield
    new = traces_in(PROJECT) - traces_before
    assert new == set(), "this test, or one beside it, used holdfast in the project's own folder"


@pytest.fixture(scope="session", autouse=True)
def no_database_left_behind() -> Iterator[None]:
    """On a server that HOLDFAST_TEST_URL names."""
    yield
    drop()


@pytest.fixture(scope="session")
def git() -> Git:
    """`git("status", at=folder)`: a real git, with somebody's name; what it printed."""

    def run(*words: str, at: Path | str | None = None) -> str:
        # Submodules from a folder of this machine are refused by default (CVE-2022-39253).
        command = ["git", *IDENTITY, "-c", "protocol.file.allow=always", *words]
        done = subprocess.run(command, cwd=at, capture_output=True, text=True)
        assert done.returncode == 0, f"git {' '.join(words)}: {done.stderr}"
        return done.stdout

    return run


@pytest.fixture(scope="session")
def first_commit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that git made, to be copied: three processes of git for each of thousands of tests
    were a fifth of their time."""
    root = tmp_path_factory.mktemp("template") / "repository"
    root.mkdir()
    (root / "README.md").write_text("A project.\n")
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "first"]):
        subprocess.run(["git", *IDENTITY, *words], check=True, cwd=root)
    for sample in (root / ".git" / "hooks").iterdir():
        sample.unlink()
    return root


@pytest.fixture
def repository(tmp_path: Path, first_commit: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh git repository with one commit, which is the current folder."""
    root = Path(os.path.realpath(tmp_path)) / "repository"
    copy_tree(first_commit, root)
    monkeypatch.chdir(root)
    return root


@pytest.fixture(params=STORES, ids=lambda store: str(store.name))
def store(request: pytest.FixtureRequest) -> Store:
    """Each kind of journal there is."""
    chosen: Store = request.param
    return chosen


@pytest.fixture
def journal(store: Store, tmp_path: Path) -> Iterator[Journal]:
    """An empty journal of each kind."""
    opened = store.open(tmp_path)
    yield opened
    opened.close()
