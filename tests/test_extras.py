"""Each extra alone brings the faces that it promises; what another extra brings is not needed."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable
from http.client import HTTPConnection
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

WithExtra = Callable[[str], None]
TOP = Path(__file__).parent.parent
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS: dict[str, list[str]] = {
    "": [],
    **{name: needs for name, needs in PROJECT["optional-dependencies"].items() if name != "all"},
}
# Where the modules of an extra are: the face, and its part in each feature. Every other module can be imported
# with the base alone.
ITS_MODULES = {
    "web": r"holdfast\.(web\.|\w+\.pages$)",
    "mcp": r"holdfast\.(mcp\.|\w+\.mcp$)",
    "postgres": r"holdfast\.journal\.postgres\.",
    "cluster": r"holdfast\.contrib\.cluster\.",
}
# Of extras that are installed for `make test-contrib` only.
ELSEWHERE = (
    r"holdfast\.contrib\.langgraph\.(saver|serializer|migration)$",
    r"holdfast\.contrib\.claude_sdk\.store$",
)
# In a process that cannot import what the other extras bring. The finder is the first to be asked.
HIDING = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {hidden!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden())
"""
# Import the modules of an extra, or those of no extra. The mirror follows a server, so it is only loaded
# beside one.
IMPORT_ALL = """
import importlib, pkgutil, re, sys
import holdfast
wanted, *others = sys.argv[1:]
for found in pkgutil.walk_packages(holdfast.__path__, "holdfast.", onerror=lambda name: None):
    if found.name not in ("holdfast.__main__", "holdfast.hooks.entry", "holdfast.remote.mirror"):
        if re.match(wanted, found.name) and not any(re.match(one, found.name) for one in others):
            importlib.import_module(found.name)
"""
# Then answer one client, as `holdfast mcp` does.
SERVE_MCP = """
from holdfast.cli.frame import run
sys.exit(run(["mcp"]))
"""
# Each command in a process of its own that has loaded only what all of them need.
EACH = """
import json, os, sys
from holdfast.cli.frame import run
for words, environment in json.loads(sys.argv[1]):
    child = os.fork()
    if not child:
        os.environ.update(environment)
        print(f"{words[0]}:", file=sys.stderr)
        code = run(words)
        sys.stderr.flush()
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
HELLO = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
    '"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}\n'
)


def closure(needs: list[str]) -> set[str]:
    """The distributions that requirements bring, and what those bring."""
    found: set[str] = set()
    waiting = [Requirement(one) for one in needs]
    while waiting:
        one = waiting.pop()
        name = canonicalize_name(one.name)
        extras = [{"extra": extra} for extra in one.extras] or [{"extra": ""}]
        if one.marker is not None and not one.marker.evaluate({"extra": ""}):
            continue
        found.add(name)
        try:
            below = [Requirement(each) for each in requires(name) or []]
        except PackageNotFoundError:
            continue
        for each in below:
            wanted = each.marker is None or any(each.marker.evaluate(extra) for extra in extras)
            if wanted and canonicalize_name(each.name) not in found:
                each.marker = None
                waiting.append(each)
    return found


@functools.cache
def provided() -> dict[str, set[str]]:
    """The distributions that each module of this environment comes from."""
    found = packages_distributions().items()
    return {module: {canonicalize_name(one) for one in names} for module, names in found}


@functools.cache
def hidden_by(extra: str) -> set[str]:
    """The modules that are not there when only this extra was installed."""
    base = closure(PROJECT["dependencies"]) | closure(EXTRAS[extra])
    others = {one for needs in EXTRAS.values() for one in closure(needs)} - base
    return {module for module, distributions in provided().items() if distributions & others}


@pytest.fixture
def with_extra(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WithExtra:
    def install(extra: str) -> None:
        folder = tmp_path / "hiding"
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(HIDING.format(hidden=hidden_by(extra)))
        monkeypatch.setenv("PYTHONPATH", str(folder))

    return install


def run(*words: str, given: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        input=given,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=40,
    )


def test_an_extra_hides_what_the_others_bring() -> None:
    assert {
        "psycopg",
        "mcp",
        "starlette",
        "jinja2",
        "uvicorn",
        "distributed",
        "apprise",
    } <= hidden_by("")
    assert "psycopg" in hidden_by("web")
    assert not {"starlette", "jinja2", "uvicorn", "click"} & hidden_by("web")
    assert "jinja2" in hidden_by("mcp")
    assert "starlette" not in hidden_by("mcp"), "the SDK brings it"


@pytest.mark.parametrize("extra", ["", *ITS_MODULES])
def test_only_an_extras_own_modules_need_it(with_extra: WithExtra, extra: str) -> None:
    """Without an extra: all modules but theirs. With one: its own, and the MCP server answers."""
    with_extra(extra)
    others = [modules for name, modules in ITS_MODULES.items() if name != extra]
    others += ELSEWHERE
    program = IMPORT_ALL + SERVE_MCP if extra == "mcp" else IMPORT_ALL
    done = run("-c", program, ITS_MODULES.get(extra, r"holdfast\."), *others, given=HELLO)
    assert done.returncode == 0, done.stderr
    if extra == "mcp":
        assert "tools" in json.loads(done.stdout)["result"]["capabilities"], done.stderr


def test_the_page_needs_its_own_extra_alone(with_extra: WithExtra) -> None:
    with_extra("web")
    words = [sys.executable, "-m", "holdfast", "serve", "--service", "--port", "0", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        late = threading.Timer(40, process.kill)
        late.start()
        try:
            assert process.stdout is not None
            port = json.loads(process.stdout.readline())["port"]
            connection = HTTPConnection("127.0.0.1", port, timeout=9)
            connection.request("GET", "/")
            # It listens, and shows no page without a sign-in link.
            assert 400 <= connection.getresponse().status < 500
            connection.close()
        finally:
            late.cancel()
            process.kill()


def test_notifications_need_their_own_extra_alone(with_extra: WithExtra) -> None:
    with_extra("notify")
    send = "from holdfast.people.notices import send; send('json://127.0.0.1:1', 'title', 'text')"
    done = run("-c", send)
    assert "did not take it" in done.stderr, done.stderr


MISSED: list[tuple[list[str], dict[str, str], str]] = [
    (["serve", "--service"], {}, "web"),
    (["mcp"], {}, "mcp"),
    (["journal", "move", "--to", "postgresql://a@127.0.0.1:1/b"], {}, "postgres"),
    (["journal", "forward"], {"HOLDFAST_URL": "postgresql://a@127.0.0.1:1/b"}, "postgres"),
    (["guard", "check"], {"HOLDFAST_URL": "postgresql://a@127.0.0.1:1/b"}, "postgres"),
]


def test_a_missing_extra_is_named_with_the_command_that_adds_it(with_extra: WithExtra) -> None:
    with_extra("")
    done = run("-c", EACH, json.dumps([(words, variables) for words, variables, _ in MISSED]))
    assert done.stdout.split() == ["1"] * len(MISSED), (done.stdout, done.stderr)
    told = re.split(r"^(?:serve|mcp|journal|guard):\n", done.stderr, flags=re.MULTILINE)[1:]
    for (words, _, extra), said in zip(MISSED, told, strict=True):
        assert f"[{extra}]'" in said, (words, said)
