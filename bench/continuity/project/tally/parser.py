"""From a line of text to an entry."""

import re

from tally.amounts import parse_amount
from tally.dates import parse_date
from tally.entries import Entry
from tally.errors import SyntaxProblem

ENTRY_LINE = re.compile(
    r'^(?P<date>\S+)\s+"(?P<payee>[^"]*)"\s+(?P<account>\S+)\s+(?P<value>\S+)\s+(?P<currency>[A-Z]{3})$'
)


def parse_line(text: str, line_number: int) -> Entry | None:
    """One entry; None for a comment or an empty line."""
    stripped = text.strip()
    if not stripped or stripped.startswith("#"):
        return None
    match = ENTRY_LINE.match(stripped)
    if match is None:
        raise SyntaxProblem(line_number, "not an entry")
    try:
        day = parse_date(match["date"])
        amount = parse_amount(match["value"], match["currency"])
    except ValueError as error:
        raise SyntaxProblem(line_number, str(error)) from error
    return Entry(day, match["payee"], match["account"], amount)
