"""Follow every link of the documentation: `python -m scripts.links`.

Looks at README.md and its siblings and at everything below docs/. A link to a file must lead to one of this
project, and its section must be a heading of that page. Links to other hosts are not followed: a check
must not need a network.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
# [text](target), also over two lines, and ![text](target).
_LINK = re.compile(r"\]\(\s*<?([^)>\s]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1`*$", re.MULTILINE | re.DOTALL)


def pages(root: Path) -> list[Path]:
    return [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]


def prose(text: str) -> str:
    """A page without its code blocks, with as many lines."""
    text = _FENCE.sub(lambda found: "\n" * found[0].count("\n"), text)
    return re.sub(r"`[^`\n]+`", "", text)


def sections_of(page: Path) -> set[str]:
    """The names by which links find the headings of a page. A heading that comes again has a number."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", shown).strip().lower().replace(" ", "-")
        number = sum(1 for other in found if re.fullmatch(rf"{re.escape(name)}(-\d+)?", other))
        found.add(f"{name}-{number}" if name in found else name)
    return found


def _targets(page: Path) -> Iterator[tuple[int, str, str]]:
    text = prose(page.read_text(encoding="utf-8"))
    for found in _LINK.finditer(text):
        target, _, section = found[1].partition("#")
        if not re.match(r"[a-z][a-z0-9+.-]*:", found[1]):
            yield text.count("\n", 0, found.start()) + 1, target, section


def problems(root: Path) -> list[str]:
    """Each link that leads nowhere, as `page:line: what is wrong`."""
    wrong: list[str] = []
    for page in pages(root):
        where = page.relative_to(root)
        for line, target, section in _targets(page):
            led_to = (page.parent / target).resolve() if target else page.resolve()
            if not led_to.is_relative_to(root.resolve()):
                wrong.append(f"{where}:{line}: {target} is outside of the project")
            elif not led_to.exists():
                wrong.append(f"{where}:{line}: {target} is not there")
            elif section and section not in sections_of(led_to):
                name = led_to.relative_to(root.resolve())
                wrong.append(f"{where}:{line}: {name} has no section #{section}")
    return wrong


def main() -> int:
    found = problems(ROOT)
    for line in found:
        print(line, file=sys.stderr)
    if not found:
        print(f"Links: {len(pages(ROOT))} pages, every link leads somewhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
