"""The command line, called in this process: fast, and with its output in hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from holdfast.cli.frame import run


class Answer(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def envelope(self) -> dict[str, Any]:
        """The one JSON object on standard output."""
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value

    @property
    def data(self) -> Any:
        return self.envelope["data"]


Holdfast = Callable[..., Answer]


@pytest.fixture
def holdfast(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Holdfast:
    """`holdfast("note", "text")`: the exit code and what was printed where."""
    monkeypatch.setenv("HOLDFAST_ACTOR", "tester")

    def call(*words: str) -> Answer:
        capsys.readouterr()
        code = run(words)
        printed = capsys.readouterr()
        return Answer(code, printed.out, printed.err)

    return call
