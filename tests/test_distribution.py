"""The name under which holdfast is installed, and the commands that add to it."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest
from scripts import changelog, dist

from holdfast.processes import distribution
from holdfast.version import __version__

TOP = Path(__file__).parent.parent


def test_the_distribution_has_a_name_of_its_own() -> None:
    project = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
    assert project["name"] == distribution.NAME == "holdfast-agents"
    assert project["scripts"] == dict.fromkeys(("holdfast", "holdfast-agents"), "holdfast.cli:main")
    assert project["optional-dependencies"]["all"][0].startswith("holdfast-agents[")


def test_no_page_and_no_hint_names_the_package_of_the_other_project() -> None:
    pages = [*(TOP / "docs").rglob("*.md"), TOP / "README.md", *(TOP / "src").rglob("*.py")]
    wrong = re.compile(r"(?:pip install '?|uvx )holdfast(?!-agents)")
    for page in pages:
        assert not wrong.search(page.read_text()), page


def test_the_entry_of_the_mcp_registry_is_of_this_version_and_form() -> None:
    entry = json.loads((TOP / "server.json").read_text())
    jsonschema.validate(entry, json.loads((TOP / "tests/schemas/mcp_server.json").read_text()))
    # The registry's own program refuses an older schema.
    assert entry["$schema"].split("/")[-2] == "2025-12-11"
    (package,) = entry["packages"]
    assert entry["version"] == package["version"] == __version__
    assert package["identifier"] == distribution.NAME
    assert package["runtimeArguments"][0]["value"] == f"{distribution.NAME}[mcp]=={__version__}"
    # The registry looks for it in the description of the package.
    assert f"<!-- mcp-name: {entry['name']} -->" in (TOP / "README.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("pipx_metadata.json", "pipx install --force 'holdfast-agents[mcp]'"),
        ("uv-receipt.toml", "uv tool install --force 'holdfast-agents[mcp]'"),
    ],
)
def test_the_tool_that_installed_it_is_named(tmp_path: Path, file: str, command: str) -> None:
    (tmp_path / file).write_text("")
    assert distribution.install_command("mcp", prefix=str(tmp_path)) == command


def test_a_trial_with_uvx_is_a_trial_again(tmp_path: Path) -> None:
    prefix = tmp_path / "archive-v0" / "x1"
    command = distribution.install_command("mcp", prefix=str(prefix))
    assert command == "uvx --from 'holdfast-agents[mcp]' holdfast"


def test_a_checkout_is_installed_from_where_it_is() -> None:
    assert distribution.install_command("mcp") == f"pip install -e '{TOP}[mcp]'"


def package(folder: Path, name: str, script: str) -> None:
    about = folder / f"{name}-1.2.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    (about / "entry_points.txt").write_text(f"[console_scripts]\nholdfast = {script}\n")


def test_the_package_of_the_other_project_is_noticed(tmp_path: Path) -> None:
    package(tmp_path / "ours", "holdfast_agents", "holdfast.cli:main")
    package(tmp_path / "before", "holdfast", "holdfast.cli:main")
    package(tmp_path / "other", "holdfast", "holdfast.main:run")
    find = distribution.find_foreign_package
    assert find([str(tmp_path / "ours")]) == ""
    assert find([str(tmp_path / "before")]) == "", "ours, from before the name was changed"
    assert find([str(tmp_path / "other")]).startswith("1.2 in ")


@pytest.mark.proof  # `make dist` and `make test-pythons` compare two builds, too
def test_two_builds_of_the_same_commit_have_the_same_bytes(tmp_path: Path) -> None:
    """From this tree, and from a copy of it with other times and rights."""
    dist.copy_tracked_files(tmp_path / "source")
    epoch = dist.last_commit_time()
    made = dist.build(TOP, tmp_path / "one", epoch=epoch)
    assert dist.build(tmp_path / "source", tmp_path / "two", epoch=epoch) == made
    assert sorted(name.rpartition(".")[2] for name in made) == ["gz", "whl"]


def test_fragments_go_into_the_section_of_their_version() -> None:
    text = "# Changes\n\n## 0.1.0 (2026-01-01)\n\nThe first.\n"
    fragments = {"a.fixed.md": "- One.\n- Two,\n  of two lines.\n", "b.added.md": "A verb.\n"}
    made = changelog.gather(text, fragments, "0.2.0", "2026-02-02")
    assert made == (
        "# Changes\n\n## 0.2.0 (2026-02-02)\n\n### Added\n\n- A verb.\n\n### Fixed\n\n- One.\n- Two,\n"
        "  of two lines.\n\n## 0.1.0 (2026-01-01)\n\nThe first.\n"
    )
    late = changelog.gather(made, {"c.fixed.md": "Three."}, "0.2.0", "2026-03-03")
    assert late == made.replace("two lines.\n", "two lines.\n- Three.\n")


def test_the_changelog_has_the_present_version() -> None:
    assert f"\n## {__version__} (" in (TOP / "CHANGELOG.md").read_text("utf-8")
