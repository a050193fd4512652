"""The rules by which one edit of a session is made again: only where it is certain what it changes."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.clients.tool_calls import read_patch
from holdfast.session.rules.replay import Misfit, SessionEdit, make_again


def edit(*exact: Any) -> SessionEdit:
    return {"number": 1, "at": "", "path": "a", "origin": "", "change": "edited", "exact": exact}


@pytest.mark.parametrize(
    ("text", "given", "after"),
    [
        ("a b a", {"old": "b", "new": "c"}, "a c a"),
        ("a b a", {"old": "a", "new": "c", "everywhere": True}, "c b c"),
        ("a\nb\n", {"old": "a", "new": "", "with_break": True}, "b\n"),
        ("x", {"new": "whole\n"}, "whole\n"),
    ],
)
def test_an_edit_is_made_again(text: str, given: Any, after: str) -> None:
    assert make_again(text, edit(given)) == after


@pytest.mark.parametrize(
    ("text", "given", "why"),
    [
        ("a b a", {"old": "a", "new": "c"}, "its old text is there 2 times"),
        ("a b a", {"old": "d", "new": "c"}, "its old text is not there"),
        (None, {"old": "d", "new": "c"}, "its file is not there"),
    ],
)
def test_an_edit_that_is_not_certain_is_not_made(text: str | None, given: Any, why: str) -> None:
    with pytest.raises(Misfit, match=why):
        make_again(text, edit(given))


def test_a_patch_replaces_whole_lines_behind_its_mark() -> None:
    patch = """*** Begin Patch
*** Update File: a.py
@@ class Second:
     def name(self):
-        return 1
+        return 2
*** Delete File: b.py
*** Add File: c.py
+new
*** Update File: d.py
*** Move to: e.py
@@
-x
+y
*** End Patch"""
    update, delete, add, move = read_patch(patch)
    body = "class {}:\n    def name(self):\n        return 1\n"
    text = body.format("First") + body.format("Second")
    changed = make_again(text, edit(*update["exact"]))
    assert changed == text[: -len("1\n")] + "2\n"
    assert (delete["path"], delete["change"]) == ("b.py", "deleted")
    assert make_again(None, edit(*add["exact"])) == "new\n"
    assert (move["origin"], move["path"]) == ("d.py", "e.py")
    assert make_again("xx\nx\n", edit(*move["exact"])) == "xx\ny\n"
    with pytest.raises(Misfit):
        make_again("xx\n", edit(*move["exact"]))
