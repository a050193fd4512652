"""Text in columns."""

from collections.abc import Sequence


def column_widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(len(cell) for cell in column) for column in zip(*rows)]


def render_table(rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    widths = column_widths(rows)
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
