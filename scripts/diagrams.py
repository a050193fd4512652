"""Draw the pictures of docs/how-it-works.md: `python -m scripts.diagrams [--check]`.

Each picture is a list of boxes, arrows and lines of text with coordinates, written as an SVG without fonts
or scripts of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
WIDTH = 760
FILLS = {
    "plain": ("#ffffff", "#57606a"),
    "pure": ("#ddf4ff", "#0969da"),
    "durable": ("#dafbe1", "#1a7f37"),
    "person": ("#fff8c5", "#9a6700"),
    "refused": ("#ffebe9", "#cf222e"),
}
STYLE = """<style>text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.name { font-weight: 600; } .small { font-size: 11.5px; fill: #57606a; }
.mono { font-family: ui-monospace, monospace; font-size: 12px; }</style>"""
ARROWHEAD = (
    '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto-start-reverse"><path d="M0 0 L8 4 L0 8 z" fill="#57606a"/></marker></defs>'
)


class Drawing:
    """The parts of one picture, in the order in which they are drawn."""

    def __init__(self, title: str, height: int) -> None:
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img">',
            f"<title>{escape(title)}</title>",
            STYLE,
            ARROWHEAD,
            f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#f6f8fa"/>',
        ]

    def box(
        self,
        x: int,
        y: int,
        width: int,
        name: str,
        lines: Sequence[str] = (),
        *,
        fill: str = "plain",
    ) -> None:
        """A box with a name and lines below it; its height follows from them."""
        inside, edge = FILLS[fill]
        height = 30 + 17 * len(lines)
        self._parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{inside}" stroke="{edge}"/>'
        )
        self.text(x + 10, y + 20, name, style="name")
        for number, line in enumerate(lines):
            self.text(x + 10, y + 38 + 17 * number, line, style="small")

    def text(self, x: int, y: int, text: str, *, style: str = "") -> None:
        self._parts.append(f'<text x="{x}" y="{y}" class="{style}">{escape(text)}</text>')

    def arrow(self, *points: tuple[int, int], dashed: bool = False) -> None:
        """A line through these points, with a head at its end."""
        path = " L".join(f"{x} {y}" for x, y in points)
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        self._parts.append(
            f'<path d="M{path}" fill="none" stroke="#57606a" stroke-width="1.4"{dash} marker-end="url(#head)"/>'
        )

    def frame(self, x: int, y: int, width: int, height: int, name: str) -> None:
        self._parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" fill="none" stroke="#8c959f" '
            'stroke-dasharray="5 4"/>'
        )
        self.text(x + 10, y + 18, name, style="small")

    def __str__(self) -> str:
        return "\n".join([*self._parts, "</svg>", ""])


def write_path() -> str:
    drawing = Drawing("The write path: lock, load, decide, append, project, effects", 330)
    faces = ["commands, hooks,", "MCP, page, library"]
    drawing.box(16, 88, 138, "a face", faces)
    drawing.arrow((154, 120), (186, 120))
    drawing.frame(176, 24, 568, 172, "under the workspace's lock")
    drawing.box(
        188,
        56,
        120,
        "load",
        ["state of records;", "files that people", "edited become", "records first"],
    )
    drawing.arrow((308, 105), (330, 105))
    drawing.box(
        330,
        56,
        120,
        "decide",
        ["a pure function:", "state, command,", "time → records,", "files, effects"],
        fill="pure",
    )
    drawing.arrow((450, 105), (472, 105))
    drawing.box(
        472,
        56,
        120,
        "append",
        ["one transaction;", "fence and version", "checked; on disk", "when it returns"],
        fill="durable",
    )
    drawing.arrow((592, 105), (614, 105))
    drawing.box(
        614,
        56,
        120,
        "project",
        ["files in the form", "of their protocol,", "exchanged, never", "overwritten"],
    )
    drawing.box(
        614, 220, 120, "effects", ["git, trackers,", "notices: tried,", "kept, tried again"]
    )
    drawing.arrow((674, 154), (674, 218))
    drawing.text(188, 176, "killed up to here: nothing happened", style="small")
    drawing.text(472, 176, "killed later: the next one finishes", style="small")
    drawing.text(188, 246, "The command says “done” after append, never before.", style="name")
    drawing.text(
        188,
        268,
        "What fails outside (a server, a hook of git) is named in the report,",
        style="small",
    )
    drawing.text(188, 285, "and undoes nothing that was recorded.", style="small")
    return str(drawing)


def pack() -> str:
    drawing = Drawing("The pack: what is observed and what is stated, in one bounded text", 356)
    drawing.text(16, 28, "observed", style="name")
    drawing.box(16, 40, 190, "transcripts", ["of six clients, such as", "Claude Code and Codex"])
    drawing.box(16, 114, 190, "the work tree", ["HEAD, branch, changed files"])
    drawing.text(16, 190, "stated", style="name")
    drawing.box(16, 202, 190, "checkpoint, note", ["decisions, next step, claims"])
    drawing.box(16, 260, 190, "gates, RFCs", ["open questions, reasoning"])
    drawing.box(
        268,
        116,
        150,
        "journal",
        [
            "redacted before it is",
            "written; stated and",
            "observed stay apart,",
            "each with its time",
        ],
        fill="durable",
    )
    for y in (72, 138, 226, 284):
        drawing.arrow((206, y), (240, y), (240, 166), (266, 166))
    drawing.arrow((418, 166), (450, 166))
    lines = [
        "verdict: CLEAN, DRIFTED, STALE …",
        "request under way",
        "rulings and answers of the person",
        "plan and open tasks",
        "what still fails, with its error",
        "decisions and next step, with age",
        "last words of the agent",
        "files, commands, commits, names",
        "“left out for length: 13 files”",
    ]
    drawing.box(452, 76, 292, "pack: bounded, in this order", lines, fill="pure")
    drawing.arrow((598, 260), (598, 296))
    drawing.box(452, 298, 292, "the next session, of any client")
    drawing.text(268, 236, "After kill -9 the transcript", style="small")
    drawing.text(268, 253, "alone is enough. No model", style="small")
    drawing.text(268, 270, "is asked.", style="small")
    return str(drawing)


def gates() -> str:
    drawing = Drawing("A gate: an agent asks, only a person answers", 300)
    drawing.box(
        16,
        30,
        170,
        "the agent asks",
        ["gate verify, decide, act", "refused if a command", "could do it"],
    )
    drawing.arrow((186, 68), (284, 68))
    drawing.box(
        286,
        30,
        190,
        "an open gate",
        ["a row in the journal: it", "outlives the agent, a", "reboot and an upgrade"],
        fill="durable",
    )
    drawing.box(
        574,
        30,
        170,
        "a person",
        [
            "a terminal: types a word",
            "that is new each time; or",
            "the page, signed in; or",
            "signed with an SSH key",
        ],
        fill="person",
    )
    drawing.arrow((574, 68), (478, 68))
    drawing.text(500, 58, "answers", style="small")
    drawing.arrow((381, 112), (381, 170))
    drawing.box(
        286,
        172,
        190,
        "answered",
        ["who, when, what was shown,", "what was answered: recorded"],
        fill="durable",
    )
    drawing.box(
        16,
        172,
        170,
        "gate wait",
        ["0 yes, 9 no, 8 not yet;", "asked again after a crash,", "it is the same gate"],
    )
    drawing.arrow((286, 204), (188, 204))
    drawing.arrow((101, 112), (101, 170), dashed=True)
    drawing.box(
        574,
        172,
        170,
        "an agent answers",
        ["exit code 4: refused,", "and the attempt is", "recorded"],
        fill="refused",
    )
    drawing.arrow((574, 190), (520, 190), (520, 100), (478, 100), dashed=True)
    drawing.text(
        16,
        284,
        "A budget's stop works alike: a file that hooks test first denies every tool until a person lifts it.",
        style="small",
    )
    return str(drawing)


DRAWN = {"write-path.svg": write_path, "pack.svg": pack, "gates.svg": gates}


def main(arguments: list[str]) -> int:
    stale = []
    for name, draw in DRAWN.items():
        path, made = PICTURES / name, draw()
        if not path.exists() or path.read_text(encoding="utf-8") != made:
            stale.append(name)
            if "--check" not in arguments:
                path.write_text(made, encoding="utf-8")
    print(
        f"{len(DRAWN)} pictures, {len(stale)} {'out of date' if '--check' in arguments else 'drawn anew'}"
    )
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
