"""A hundred secrets in old transcripts: none in a hit, in the index, in what is kept, on the page or in a reminder."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from holdfast.clients import kept
from holdfast.memory import index
from tests.cli.conftest import Holdfast
from tests.kernel.secret_forms import NAMED_FORMS, VENDORS
from tests.memory.conftest import Put
from tests.web.world import Visitor

FORMS = [*VENDORS.values(), *NAMED_FORMS.values()][:100]


def hold(text: str) -> list[str]:
    return [secret for form in FORMS for secret in form.secrets if secret in text]


def test_none_of_a_hundred_secrets_comes_back(
    shop: Path, put: Put, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_MEMORY_KEEP_DAYS", "365")
    holdfast("note", "begin a journal")
    for number, form in enumerate(FORMS):
        said = [
            ("user", f"Deploy aardvark {number}: {form.text}"),
            ("assistant", f"I deploy aardvark {number} with {form.text}"),
            ("Bash", f"deploy aardvark '{form.text}'"),
            ("failed", f"aardvark refused: {form.text}"),
            ("Edit", f"{shop / 'env.py'}|a|{form.text.replace('|', ' ')}"),
        ]
        path = put(shop, f"{number:08d}-0000-4000-8000-000000000000", said)
        old = time.time() - 86_400
        os.utime(path, (old, old))
    holdfast("remember")
    outputs = [
        holdfast("find", "--json", "--here", "--limit", "100", "deploy aardvark refused").out,
        holdfast("find", "--here", "--limit", "100", "aardvark").out,
        holdfast("why", "--json", "env.py").out,
        holdfast("resume", "--session", "00000001").out,
    ]
    assert "aardvark" in outputs[0]
    with index.open_index() as opened:
        rows = opened.sessions()
        outputs += [repr(rows)]
        outputs += [piece.searched for row in rows for piece in opened.pieces_of(row["id"])]
        for table in ("core", "talk"):
            opened.ask(
                f"CREATE VIRTUAL TABLE temp.{table}_words USING fts5vocab(main, {table}, row)"
            )
            words = " ".join(word for (word,) in opened.ask(f"SELECT term FROM temp.{table}_words"))
            assert "aardvark" in words
            outputs.append(words)
    files = list(kept.list_all(str(shop)))
    assert len(files) >= len(FORMS)
    for file in files:
        events = kept.load(file, whole=True) or []
        outputs += [repr((one.text, one.about, one.path, one.exact)) for one in events]
    with Visitor([str(shop)]) as visitor:
        visitor.sign_in()
        outputs.append(visitor.get("/find?q=aardvark").text)
    found = [secret for output in outputs for secret in hold(output)]
    assert found == []
