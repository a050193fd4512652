"""Put the pages of the web site together: `python -m scripts.site`; `make site` then builds it.

The pages are the ones that people read in the repository: README.md is the first, docs/ has the others. Links
from one to another are rewritten for the site; what a link to a source file says stays, without the link.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

from scripts.links import ROOT

PAGES = ROOT / "build" / "site-pages"
ASSETS = ROOT / "scripts" / "site_assets"
LOGO = ROOT / "src" / "holdfast" / "web" / "static" / "holdfast.svg"
# Pages outside of docs/, and what they are called on the site.
OUTSIDE = {
    "README.md": "index.md",
    "SECURITY.md": "SECURITY.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
}
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def place_on_site(path: Path) -> str:
    """Where a file of the project is on the site; empty when it is not there."""
    name = path.relative_to(ROOT).as_posix()
    return OUTSIDE.get(name, name.removeprefix("docs/") if name.startswith("docs/") else "")


def rewrite(text: str, page: Path) -> str:
    """A page's text with links that work on the site."""

    def link(found: re.Match[str]) -> str:
        mark, shown, whole = found.groups()
        target, hash, section = whole.partition("#")
        if re.match(r"[a-z]+:", whole) or not target:
            return found[0]
        place = place_on_site((page.parent / target).resolve())
        if not place:
            return shown
        here = os.path.dirname(place_on_site(page)) or "."
        return f"{mark}[{shown}]({os.path.relpath(place, here)}{hash}{section})"

    return _LINK.sub(link, text)


def main() -> int:
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES)
    shutil.copyfile(LOGO, PAGES / "holdfast.svg")
    shutil.copytree(ASSETS, PAGES / "assets")
    sources = [*(ROOT / "docs").rglob("*.md"), *(ROOT / name for name in OUTSIDE)]
    for page in sources:
        text = rewrite(page.read_text(encoding="utf-8"), page)
        (PAGES / place_on_site(page)).write_text(text, encoding="utf-8")
    print(f"{len(sources)} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
