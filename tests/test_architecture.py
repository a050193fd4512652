"""Rules that hold over the whole tree, and the cross-cutting resolutions of the protocols."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.kernel import clock
from holdfast.kernel.workspace import discover

SOURCE = Path(holdfast.__file__).parent
UNITS = {"MINUTE", "HOUR", "DAY"}


FEATURES = sorted(path.parent.name for path in SOURCE.glob("*/rules"))
# A plan holds checkpoints and limits, so its rules know those of gates and budgets.
KNOWN = {"plans": {"plans", "gates", "budgets"}}


def modules(package: str) -> Iterator[tuple[Path, ast.Module]]:
    found = sorted((SOURCE / package).rglob("*.py"))
    assert found, package
    for path in found:
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def test_every_protocol_has_its_rules() -> None:
    assert {"session", "fleet", "loop", "gates", "budgets", "plans", "rfc"} <= set(FEATURES)


def imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Module and name of everything that a module imports from holdfast."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("holdfast"):
            for alias in node.names:
                yield node.module or "", alias.name


@pytest.mark.clause("AMB-X-01", "AMB-X-04")
@pytest.mark.parametrize("feature", FEATURES)
def test_no_rules_take_a_number_from_the_kernel_or_from_another_feature(feature: str) -> None:
    """Cadences and bounds are each protocol's own: no constant is shared but the units of time."""
    for path, tree in modules(f"{feature}/rules"):
        for module, name in imported(tree):
            if module.split(".")[1] not in KNOWN.get(feature, {feature}):
                assert not name.isupper() or name in UNITS, f"{path}: {module}.{name}"


@pytest.mark.clause("AMB-X-05", "AMB-X-06")
@pytest.mark.parametrize("feature", FEATURES)
def test_rules_know_no_other_feature(feature: str) -> None:
    known = KNOWN.get(feature, {feature})
    for path, tree in modules(f"{feature}/rules"):
        for module, name in imported(tree):
            other = module.split(".")[1] if "." in module else name
            assert other in known or other not in FEATURES, f"{path}: {module}.{name}"


@pytest.mark.clause("AMB-X-05", "AMB-X-06")
def test_the_kernel_has_no_word_that_the_protocols_use_differently() -> None:
    """`checkpoint`, `wave`, `gate`, `status`: five meanings, so no shared type for them."""
    for path, tree in modules("kernel"):
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                assert not re.search("Checkpoint|Wave|Gate|Status", node.name), path


@pytest.mark.clause("AMB-X-02")
def test_files_carry_utc_times_to_the_second(repository: Path) -> None:
    assert clock.stamp(1_794_770_490_042) == "2026-11-15T19:21:30Z"
    with holdfast.open() as workspace:
        workspace.note("one")
    text = Path(".notes/default.md").read_text()
    assert re.search(r"^- \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ ", text, re.MULTILINE)


@pytest.mark.clause("AMB-X-03")
def test_a_view_is_never_seen_half_written(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file at the view's name is a whole one at every system call of a capture."""
    import os

    with holdfast.open() as workspace:
        workspace.note("one")
        before = Path(".notes/default.md").read_text()
        seen = []
        kept = {name: getattr(os, name) for name in ("write", "fsync", "open", "close", "unlink")}
        for name, real in kept.items():

            def watched(*arguments: object, real: object = real, **options: object) -> object:
                with open(".notes/default.md", encoding="utf-8") as file:
                    seen.append(file.read())
                return real(*arguments, **options)  # type: ignore[operator]

            monkeypatch.setattr(os, name, watched)
        workspace.note("two")
        for name, real in kept.items():
            monkeypatch.setattr(os, name, real)
    after = Path(".notes/default.md").read_text()
    assert set(seen) == {before, after}


@pytest.mark.clause("AMB-X-07")
def test_one_root_and_one_journal_for_all_worktrees(repository: Path, tmp_path: Path) -> None:
    import subprocess

    other = tmp_path / "other"
    subprocess.run(["git", "worktree", "add", "-q", str(other)], check=True, capture_output=True)
    here, there = discover(str(repository)), discover(str(other))
    assert here.journal_path == there.journal_path
    assert (here.root, there.root) == (str(repository), str(other.resolve()))


# Most files need not be parsed.
PERHAPS_PATCHED = re.compile(r"""(?:set|del)attr\(.{0,300}?["'](?:_|holdfast\.)""", re.DOTALL)


def test_no_test_patches_a_private_name_or_a_dotted_path() -> None:
    """Such a test breaks when a module is renamed, and proves nothing about what users see. Crashes
    happen at the named points of `holdfast.kernel.crash`."""
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not PERHAPS_PATCHED.search(text):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                texts = [word.value for word in node.args if isinstance(word, ast.Constant)]
                if node.func.attr in ("setattr", "delattr") and texts:
                    patched = str(texts[0])
                    assert not patched.startswith(("_", "holdfast.")), f"{path}: {patched}"


def test_every_public_function_of_the_library_is_documented() -> None:
    for name in holdfast.__all__:
        thing = getattr(holdfast, name)
        assert name.startswith("__") or isinstance(thing, type) or thing.__doc__, name


# Folders of tests that mirror no package of the sources, and why.
NO_MIRROR = {
    "clients/conformance": "the same suite for each client",
    "clients/transcripts": "a module of each client's own folder",
    "continuity": "bench/continuity",
    "journal/conformance": "the same suite for each kind of journal",
    "plugins": "plugins/, which no package holds",
    "adoption": "folders made by hand from the documents of several protocols",
    "proof": "slow proofs of several packages",
    "real_clients": "the clients themselves",
    "web/browser": "the page in Chromium",
}


def test_the_folders_of_tests_mirror_the_sources() -> None:
    tests = Path(__file__).parent
    found = {path.parent.relative_to(tests).as_posix() for path in tests.rglob("test_*.py")}
    sources = Path(holdfast.__file__).parent
    assert {name for name in found if not (sources / name).is_dir()} == set(NO_MIRROR)
