"""The page about RFCs, with its placeholders filled in: every command works, in its order."""

from __future__ import annotations

import shlex

from holdfast.kernel.text import split_words
from tests.rfc.world import ID, TEXTS, Rfc, done
from tests.test_docs import blocks

PAGE = "docs/how-to/rfc.md"


def test_its_commands_in_their_order(rfc: Rfc) -> None:
    seen = []
    for line in "".join(blocks(PAGE, "")).splitlines():
        program, noun, *words = shlex.split(line)
        assert (program, noun) == ("holdfast", "rfc")
        given = None
        if "<" in words:
            assert words[-2:] == ["<", "FILE"]
            words, given = words[:-2], TEXTS[words[1]]
        done(rfc(*(ID if word == "ID" else word for word in words), given=given))
        seen.append(words[0])
    assert set(seen) == set(split_words("init list prompt write transition bootstrap show lint"))
