"""Record `holdfast demo` as a picture that moves: `python -m scripts.recording`.

The demo is played for real. Its lines, colours and pace are those of the terminal; the picture is an
SVG without a script, which shows each line at its time and scrolls as a terminal does.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.sax.saxutils import escape

from holdfast.cli.verbs.demo import PACE, render
from holdfast.maintenance.demo import tell

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "demo.svg"
# What sells it: an agent dies, and the next one knows. The chapters after these are in the demo.
CHAPTERS = 2
WIDTH, LINE, MARGIN = 700, 18, 16
# As many lines as a small terminal has; earlier ones go up and out.
SHOWN = 24
COLOURS = {"31": "#ff7b72", "32": "#7ee787", "36": "#79c0ff"}
_MARK = re.compile(r"\x1b\[([\d;]*)m")


def main() -> int:
    rows, at, chapters = [], 0.4, 0
    for line in tell():
        chapters += line.kind == "chapter"
        if chapters > CHAPTERS:
            continue  # to its end: the demo checks itself
        # Where this machine keeps its Python is no part of the story.
        rows += [(at, text.replace(sys.base_prefix, "/usr")) for text in render(line)]
        at += PACE[line.kind]
    PICTURE.write_text(_picture(rows), encoding="utf-8")
    print(f"{PICTURE.name}: {len(rows)} lines, {at:.0f} s")
    return 0


def _picture(rows: list[tuple[float, str]]) -> str:
    height = LINE * SHOWN + 2 * MARGIN
    end = LINE * max(0, len(rows) - SHOWN)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}">',
        "<title>holdfast demo: an agent is killed, and the next session knows what it needs</title>",
        "<style>text { font: 13px ui-monospace, monospace; fill: #e6edf3; white-space: pre; }",
        "g { opacity: 0; animation: shown 0.1s linear forwards; }",
        "@keyframes shown { to { opacity: 1; } }",
        f"#rows {{ opacity: 1; animation: scroll {rows[-1][0]:.2f}s step-end forwards; }}",
        f"@keyframes scroll {{ {' '.join(_scrolled(rows))} }}",
        "@media (prefers-reduced-motion: reduce) { g { opacity: 1; animation: none; } "
        f"#rows {{ animation: none; transform: translateY(-{end}px); }} }}</style>",
        f'<clipPath id="screen"><rect x="0" y="{MARGIN - 6}" width="{WIDTH}" '
        f'height="{height - 2 * MARGIN + 12}"/></clipPath>',
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#0d1117"/>',
        '<g clip-path="url(#screen)" style="opacity: 1; animation: none"><g id="rows">',
    ]
    for number, (at, text) in enumerate(rows):
        y = MARGIN + LINE * (number + 1) - 5
        spans = "".join(_spans(text))
        lines.append(
            f'<g style="animation-delay: {at:.2f}s">'
            f'<text x="{MARGIN}" y="{y}" xml:space="preserve">{spans}</text></g>'
        )
    return "\n".join([*lines, "</g></g>", "</svg>", ""])


def _scrolled(rows: list[tuple[float, str]]) -> list[str]:
    """How far up the lines are, each time that a new one would not fit."""
    last = rows[-1][0]
    heights = {
        f"{at / last:.2%}": LINE * (number + 1 - SHOWN)
        for number, (at, _) in enumerate(rows)
        if number >= SHOWN
    }
    return [f"{at} {{ transform: translateY(-{height}px); }}" for at, height in heights.items()]


def _spans(text: str) -> list[str]:
    """A line of a terminal as pieces of a text, each with its colour."""
    spans, style = [], ""
    for position, part in enumerate(_MARK.split(text)):
        if position % 2:
            codes = part.split(";")
            fill = next((f' fill="{COLOURS[code]}"' for code in codes if code in COLOURS), "")
            bold = ' font-weight="bold"' if "1" in codes else ""
            dim = ' opacity="0.6"' if "2" in codes else ""
            style = f"{fill}{bold}{dim}"
        elif part:
            spans.append(f"<tspan{style}>{escape(part)}</tspan>")
    return spans


if __name__ == "__main__":
    sys.exit(main())
