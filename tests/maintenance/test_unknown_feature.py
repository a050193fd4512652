"""A journal with records of a feature that this holdfast does not have: it says so, keeps them, and all else works."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast import registry
from holdfast.kernel import clock
from holdfast.kernel.workspace import discover
from holdfast.maintenance import purge
from tests.cli.conftest import Holdfast

WRITERS = {
    "note": ("note:default", ["note", "the port is 8080"]),
    "rfc": ("rfc:parser", ["rfc", "init", "parser", "--title", "A parser"]),
    "loop": ("loop:parser", ["loop", "start", "PLAN", "--track", "parser"]),
    "fleet": ("agent:Secondary-A", ["agent", "start", "Secondary-A", "--feature", "feature_02"]),
    "gates": ("gate:", ["gate", "verify", "--built", "a page", "--how", "look"]),
}


@pytest.mark.parametrize("feature", WRITERS)
def test_records_of_a_missing_feature_are_told_and_kept(
    feature: str, repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream, words = WRITERS[feature]
    assert holdfast(*words).code in (0, 8)
    assert holdfast("checkpoint", "--task", "the parser", "--next", "test it").code == 0
    kept = [one for one in registry.features() if one.name != feature]
    for name in ("features", "all_features"):
        monkeypatch.setattr(registry, name, lambda: kept)
    kind = stream.partition(":")[0]
    assert f"a record of {kind}, which this holdfast does not know" in holdfast("history").out
    for word in ("status", "doctor"):
        assert "which this holdfast does not know" in holdfast(word).out
    journal = discover().journal
    records = len(journal.latest(stream=f"{kind}:*", limit=100))
    for words in (["gc"], ["verify"], ["export"], ["conflicts"]):
        assert holdfast(*words).code == 0, words
    found = purge.find(discover(), text="a page", now=clock.now())
    purge.erase(discover(), found, text="a page", actor="tester", now=clock.now())
    assert len(discover().journal.latest(stream=f"{kind}:*", limit=100)) == records > 0
    (head, *_) = discover().journal.heads(f"{kind}:")
    shown = holdfast("show", head["stream"])
    assert shown.code == 3
    assert "knows no streams of the kind" in shown.err
