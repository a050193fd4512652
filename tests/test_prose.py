"""What people and agents read is plain technical English: none of the words of this list."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import holdfast

SOURCE = Path(holdfast.__file__).parent
AVOIDED = re.compile(
    r"\b(so many|so long as|so full|stands in|goes on|anew|of ours|all the same|but for|is none of|whoever|somebody)\b",
    re.IGNORECASE,
)
# A docstring in these modules is a help text or the description of a tool.
FACES = re.compile(r"(cli|mcp)")


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a module that people or agents read: strings with a space, and the docstrings of commands and tools."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    is_face = bool(FACES.search(str(path.relative_to(SOURCE))))
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and isinstance(node.body[0], ast.Expr)
        and not (is_face and isinstance(node, ast.FunctionDef) and node.decorator_list)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in docstrings:
            value = node.value
            if isinstance(value, str) and " " in value:
                yield node.lineno, value


def test_what_people_read_has_none_of_the_avoided_words() -> None:
    found = {
        f"{path.relative_to(SOURCE)}:{line}": said[0]
        for path in SOURCE.rglob("*.py")
        for line, text in texts_of(path)
        if (said := AVOIDED.search(text))
    }
    for page in SOURCE.rglob("templates/*.html"):
        text = re.sub(r"\{[#%].*?[#%]\}", "", page.read_text(encoding="utf-8"))
        found |= {str(page.relative_to(SOURCE)): said[0] for said in [AVOIDED.search(text)] if said}
    assert found == {}
