"""Put the fragments of `changelog.d/` into CHANGELOG.md: `python -m scripts.changelog [DATE]`.

They go into the section of the version in `version.py`. A version without a section gets one, at the top,
with today's date. What is there already stays: a fragment that comes late goes after it. The fragments
are removed then.
"""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from pathlib import Path

from holdfast.version import __version__

ROOT = Path(__file__).parent.parent
FRAGMENTS = ROOT / "changelog.d"
CHANGELOG = ROOT / "CHANGELOG.md"
# A fragment is `NAME.KIND.md`; the headings stand in this order.
KINDS = {
    "security": "Security",
    "added": "Added",
    "changed": "Changed",
    "fixed": "Fixed",
    "removed": "Removed",
}


def entries(text: str) -> list[str]:
    """The entries of a fragment: its list's items, or its paragraphs as items."""
    parts = re.split(r"\n\s*\n|\n(?=- )", text.strip())
    items = [part.strip().removeprefix("- ") for part in parts if part.strip()]
    return ["- " + "\n  ".join(line.strip() for line in item.splitlines()) for item in items]


def gather(text: str, fragments: dict[str, str], version: str, date: str) -> str:
    """The changelog `text` with the fragments, each under its name, in the section of `version`."""
    begin = re.search(rf"^## {re.escape(version)}\b.*$", text, re.MULTILINE)
    if begin is None:
        newest = re.search(r"^## ", text, re.MULTILINE)
        place = newest.start() if newest else len(text)
        before, after = text[:place].rstrip(), text[place:]
        text = f"{before}\n\n## {version} ({date})\n\n{after}"
        return gather(text, fragments, version, date)
    following = re.search(r"^## ", text[begin.end() :], re.MULTILINE)
    end = begin.end() + following.start() if following else len(text)
    section = text[begin.end() : end]
    introduction, *kept = re.split(r"^### ", section, flags=re.MULTILINE)
    lists = {heading.split("\n", 1)[0]: heading.split("\n", 1)[1].strip() for heading in kept}
    for name, fragment in sorted(fragments.items()):
        heading = KINDS[name.split(".")[-2]]
        lists[heading] = "\n".join([*filter(None, [lists.get(heading, "")]), *entries(fragment)])
    parts = [f"{text[: begin.end()]}{introduction.rstrip()}"]
    parts += [f"### {name}\n\n{lists[name]}" for name in KINDS.values() if lists.get(name)]
    rest = text[end:]
    return "\n\n".join([*parts, rest] if rest else parts).rstrip() + "\n"


def main(arguments: list[str]) -> int:
    paths = sorted(path for path in FRAGMENTS.glob("*.md") if path.name != "README.md")
    fragments = {path.name: path.read_text(encoding="utf-8") for path in paths}
    date = arguments[0] if arguments else datetime.now(UTC).date().isoformat()
    text = CHANGELOG.read_text(encoding="utf-8")
    CHANGELOG.write_text(gather(text, fragments, __version__, date), encoding="utf-8")
    for path in paths:
        path.unlink()
    print(f"{len(paths)} fragments are in the section of {__version__}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
