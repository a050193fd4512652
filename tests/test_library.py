"""What `import holdfast` gives, and that it costs nothing until it is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from tests.hooks.loaded import loaded_by_script


def test_the_public_names_are_there_and_no_others() -> None:
    for name in holdfast.__all__:
        assert getattr(holdfast, name) is not None
    with pytest.raises(AttributeError):
        holdfast.manager  # noqa: B018


def test_importing_it_loads_nothing_heavy() -> None:
    script = "import sys, holdfast; print(' '.join(sys.modules))"
    loaded = loaded_by_script([sys.executable, "-I"], script)
    assert "holdfast" in loaded
    assert not loaded & {"apsw", "click", "json", "typing", "holdfast.api"}


def test_status_does_without_click(repository: Path) -> None:
    script = (
        "import sys; from holdfast.cli.frame import run; run(['status']);"
        "assert 'click' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_a_note_is_durable_and_idempotent(repository: Path) -> None:
    with holdfast.open(actor="builder") as workspace:
        first = workspace.note("done", id="step-1")
        again = workspace.note("done", id="step-1")
        assert (first["duplicate"], again["duplicate"]) == (False, True)
        (record,) = workspace.history(stream="note:*")
        assert record["actor"] == "builder"
        assert workspace.root == str(repository)


def test_no_workspace_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(holdfast.NotFound):
        holdfast.open(str(tmp_path))
