"""The cache of compiled modules: used when it is right, ignored when it is not, and never needed."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

import holdfast
from holdfast.hooks.run import command
from holdfast.kernel.code_cache_writer import MOST_FILES, is_annotation, lean_code

PACKAGE = Path(holdfast.__file__).parent
ASK = json.dumps({"text": "Halfway."}).encode()
# Where the modules of a hook came from, told when it ends.
TOLD = """
import os, sys
leave = os._exit
def tell(code):
    specs = {name: getattr(module, "__spec__", None) for name, module in sys.modules.items()}
    cached = sorted(name for name, spec in specs.items() if str(spec and spec.cached).endswith(".hooks"))
    os.write(2, " ".join([*cached, "collections" * ("collections" in sys.modules)]).encode())
    leave(code)
os._exit = tell
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    folder.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder / "holdfast"


def note(package: Path = PACKAGE) -> tuple[dict[str, object], list[str]]:
    """What a hook answers, and which modules it had from the cache."""
    python, isolated, no_site, _, libraries, *words = command("note")
    entry = str(package / "hooks" / "entry.py")
    arguments = f"sys.argv = [{entry!r}, {libraries!r}, *{words!r}]\n__file__ = {entry!r}\n"
    script = Path(os.environ["XDG_CACHE_HOME"]).parent / "told.py"
    script.write_text(TOLD + arguments + Path(entry).read_text())
    done = subprocess.run(
        [python, isolated, no_site, str(script)], input=ASK, capture_output=True, check=True
    )
    return json.loads(done.stdout), done.stderr.decode().split()


def one_file(cache: Path) -> Path:
    (found,) = cache.iterdir()
    return found


def test_the_second_hook_has_its_modules_from_one_file(repository: Path, cache: Path) -> None:
    answer, cached = note()
    assert answer["queued"] is False
    assert cached == []
    assert one_file(cache).stat().st_mode & 0o777 == 0o600
    answer, cached = note()
    assert answer["queued"] is False
    assert {"holdfast.hooks.run", "holdfast.kernel.commit", "holdfast.journal.sqlite"} <= set(
        cached
    )
    # apsw wants one class of `collections`, which is there without it.
    assert "collections" not in cached


def test_one_block_holds_a_module_and_all_that_it_imports(repository: Path, cache: Path) -> None:
    """The packages around a module and what it imports are there, as the interpreter leaves them."""
    note()
    script = (
        f"sys.path[0:0] = [{str(PACKAGE.parent)!r}, {command()[4]!r}]\n"
        "from holdfast.kernel import code_cache\n"
        "found = code_cache.use_code_cache('hooks')\n"
        "import holdfast.hooks.run\n"
        "assert found._tried == {'holdfast.hooks', 'holdfast.hooks.run'}, found._tried\n"
        "import importlib, importlib.util, holdfast.kernel.errors as errors\n"
        "assert errors is holdfast.kernel.errors is sys.modules['holdfast.kernel.errors']\n"
        "assert importlib.util.find_spec('holdfast.kernel.errors').origin == errors.__file__\n"
        "assert errors.__package__ == 'holdfast.kernel' and not hasattr(errors, '__path__')\n"
        "assert holdfast.clients.__path__ == holdfast.clients.__spec__.submodule_search_locations\n"
        "before = errors.NotFound\n"
        "assert importlib.reload(errors).NotFound is not before\n"
    )
    words = [sys.executable, "-I", "-S", "-c", f"import sys\n{script}"]
    subprocess.run(words, check=True)


@pytest.mark.parametrize(("face", "is_whole"), [("hooks", False), ("commands", True)])
def test_only_commands_keep_what_a_reader_of_code_needs(
    cache: Path, face: str, is_whole: bool
) -> None:
    """A hook shows no traceback and no help; an error is raised all the same, and tells its message."""
    script = (
        f"import sys; sys.path[0:0] = [{str(PACKAGE.parent)!r}]\n"
        "from holdfast.kernel.code_cache import use_code_cache\n"
        f"cache = use_code_cache({face!r})\n"
        "from holdfast.kernel import plain_file\n"
        "try:\n    plain_file.read_plain('/')\n"
        "except OSError as error:\n    said = error.strerror\n"
        "cache.add_loaded()\n"
        "read = plain_file.read_plain\n"
        "print(said, *map(bool, (read.__code__.co_linetable, read.__doc__, read.__annotations__)), sep=';')\n"
    )
    for expected in (True, is_whole):
        words = [sys.executable, "-I", "-S", "-c", script]
        done = subprocess.run(words, capture_output=True, check=True, text=True)
        assert done.stdout == f"it is a folder;{expected};{expected};{expected}\n"


def test_a_module_that_reads_its_own_annotations_keeps_them(cache: Path) -> None:
    script = (
        f"import sys; sys.path[0:0] = [{str(PACKAGE.parent)!r}]\n"
        "from holdfast.kernel.code_cache import use_code_cache\n"
        "cache = use_code_cache('hooks')\n"
        "from holdfast.kernel import arguments\n"
        "cache.add_loaded()\n"
        "class Face:\n    def say(self, text: 'str') -> None: pass\n"
        "try:\n    arguments.checks_arguments(Face)().say(1)\n"
        "except Exception as error:\n    print(error.message)\n"
        "print(arguments.__spec__.cached == cache.path)\n"
    )
    words = [sys.executable, "-I", "-S", "-c", script]
    subprocess.run(words, check=True, capture_output=True)
    done = subprocess.run(words, capture_output=True, check=True, text=True)
    assert done.stdout == "text must be a text, not 1.\nTrue\n"


def test_what_is_taken_out_of_lean_code_is_used_nowhere() -> None:
    """No value of the package looks like the annotations of a function, and each source compiles to lean code that
    has all of its own functions and classes."""
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_bytes()
        tree = ast.parse(source)
        for node in ast.walk(tree):
            if isinstance(node, ast.Tuple):
                values = tuple(getattr(one, "value", None) for one in node.elts)
                assert not is_annotation(values), f"{path}:{node.lineno}"
        lean = lean_code(compile(source, str(path), "exec"), source)
        kept = {one.co_name for one in lean.co_consts if isinstance(one, CodeType)}
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                assert node.name in kept, f"{path}: {node.name}"


def test_a_first_constant_that_is_used_is_no_docstring() -> None:
    source = b"def say():\n    'both'\n    return 'both'\ndef shown():\n    'shown'\n    return 1\n"
    names: dict[str, Any] = {}
    exec(lean_code(compile(source, "x", "exec"), source), names)
    assert names["say"]() == "both"
    assert names["shown"].__doc__ is None


def test_a_command_has_a_file_of_its_own(repository: Path, cache: Path) -> None:
    """What a module imports depends on what was loaded before it."""
    note()
    (hooks,) = cache.iterdir()
    content = hooks.read_bytes()
    for _ in range(2):
        subprocess.run([sys.executable, "-m", "holdfast", "status"], check=True)
    assert sorted(path.suffix for path in cache.iterdir()) == [".commands", ".hooks"]
    assert hooks.read_bytes() == content


def test_a_changed_source_is_what_runs(repository: Path, cache: Path, tmp_path: Path) -> None:
    package = tmp_path / "site" / "holdfast"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    for _ in range(2):
        _, cached = note(package)
    assert "holdfast.note.rules.note" in cached
    source = package / "note" / "rules" / "note.py"
    text = source.read_text()
    assert text.count("def decide(") == 1
    source.write_text(
        text.replace("def decide(", 'raise RuntimeError("edited")\n\n\ndef decide(', 1)
    )
    answer, cached = note(package)
    assert "edited" in str(answer["failed"])
    assert "holdfast.note.rules.note" not in cached
    source.write_text(text)
    assert "failed" not in note(package)[0]


@pytest.mark.parametrize(
    "damage", ["truncated", "garbage", "writable by others", "in a folder of others", "a link"]
)
def test_a_file_that_cannot_be_trusted_is_not_run(
    repository: Path, cache: Path, tmp_path: Path, damage: str
) -> None:
    note()
    file = one_file(cache)
    content = file.read_bytes()
    if damage == "truncated":
        file.write_bytes(content[:2000])
    elif damage == "garbage":
        file.write_bytes(content[:60] + b"\xff" * 3000 + content[3060:])
    elif damage == "writable by others":
        file.chmod(0o666)
    elif damage == "in a folder of others":
        cache.chmod(0o777)
    else:
        file.rename(tmp_path / "elsewhere")
        file.symlink_to(tmp_path / "elsewhere")
    answer, cached = note()
    assert "failed" not in answer
    assert cached == []
    # And the next one has a good file again.
    cache.chmod(0o700)
    assert len(note()[1]) > 10


def test_code_that_cannot_be_read_is_loaded_from_its_source(repository: Path, cache: Path) -> None:
    note()
    file = one_file(cache)
    content = file.read_bytes()
    file.write_bytes(content[:20000] + b"\0" * (len(content) - 20000))
    assert "failed" not in note()[0]


def test_without_a_home_nothing_is_made(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "gone"))
    done = subprocess.run(command("note"), input=ASK, capture_output=True, check=True)
    assert "failed" not in json.loads(done.stdout)
    assert not (tmp_path / "gone").exists()


def test_modules_that_want_collections_later_get_them(cache: Path) -> None:
    script = (
        "from holdfast.kernel.code_cache import use_code_cache\n"
        "use_code_cache('hooks')\n"
        "import sys, apsw\n"
        "assert 'collections' not in sys.modules\n"
        "import collections.abc, typing\n"
        "assert collections.OrderedDict and collections.abc.Mapping\n"
        "connection = apsw.Connection(':memory:')\n"
        "print(connection.execute('select :a', {'a': 7}).fetchone()[0])\n"
    )
    libraries = command()[4]
    script = f"import sys; sys.path[0:0] = [{str(PACKAGE.parent)!r}, {libraries!r}]\n{script}"
    words = [sys.executable, "-I", "-S", "-c", script]
    done = subprocess.run(words, capture_output=True, check=True, text=True)
    assert done.stdout == "7\n"


def test_files_of_packages_that_are_gone_do_not_pile_up(repository: Path, cache: Path) -> None:
    cache.mkdir()
    for number in range(30):
        old = cache / f"%gone{number}.cpython-311"
        old.write_bytes(b"old")
        os.utime(old, (1_700_000_000 + number, 1_700_000_000 + number))
    note()
    left = sorted(path.name for path in cache.iterdir())
    assert len(left) == MOST_FILES
    assert "%gone29.cpython-311" in left
    assert "%gone0.cpython-311" not in left
    _, cached = note()
    assert "holdfast.hooks.run" in cached
