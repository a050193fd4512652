"""The work that the recorded sessions do on the code base in `project/`.

A job is one thing that a person wants. It holds the person's words, what an agent looks at for it,
the edits that do it, and a slip: what the agent gets wrong at first, so that a test fails. Jobs
touch different places, so a session can do any of them in any order.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Edit:
    """One exact replacement. An empty `old` makes a new file."""

    path: str
    old: str
    new: str


@dataclass(frozen=True)
class Question:
    """What the agent asks the person before it begins."""

    text: str
    options: tuple[str, ...]
    answer: str


@dataclass(frozen=True)
class Job:
    name: str
    request: str
    tasks: tuple[str, ...]
    looks: tuple[str, ...]
    names: tuple[str, ...]
    finding: str
    tests: tuple[Edit, ...]
    changes: tuple[Edit, ...]
    # A text of the changes, and what the agent writes there at first.
    slip: tuple[str, str]
    module: str
    commit: str
    docs: Edit | None = None
    question: Question | None = None
    # A later message of the person that changes the direction, and the edits that follow it.
    correction: str = ""
    corrected: tuple[Edit, ...] = ()
    removes: tuple[str, ...] = field(default=())


def _case(path: str, anchor: str, body: str) -> Edit:
    """Add a test after a line of a test file."""
    return Edit(path, anchor, f"{anchor}\n{body}")


THOUSANDS = Job(
    name="thousands",
    request="""Amounts such as 1,250.00 are refused: parse_amount says "not an amount". People copy \
them from their bank. Accept a comma between thousands in tally/amounts.py. Don't touch the public \
API: parse_amount keeps its two arguments. Only use the standard library, no locale module.""",
    tasks=(
        "Write a failing test for grouped amounts",
        "Accept commas between thousands in parse_amount",
        "Document grouped amounts in docs/format.md",
    ),
    looks=("tally/amounts.py", "tests/test_amounts.py", "tally/parser.py", "docs/format.md"),
    names=("parse_amount", "InvalidOperation"),
    finding="`parse_amount` hands its text straight to `Decimal`, which knows no grouping.",
    tests=(
        _case(
            "tests/test_amounts.py",
            'self.assertEqual(parse_amount("12.50", "EUR"), Amount(Decimal("12.50"), "EUR"))',
            """
    def test_parse_grouped(self):
        self.assertEqual(parse_amount("1,250.00", "EUR").value, Decimal("1250.00"))

    def test_refuse_misplaced_comma(self):
        with self.assertRaises(ValueError):
            parse_amount("1,25", "EUR")
""",
        ),
    ),
    changes=(
        Edit(
            "tally/amounts.py",
            "from dataclasses import dataclass\nfrom decimal import Decimal, InvalidOperation\n",
            'import re\nfrom dataclasses import dataclass\nfrom decimal import Decimal, InvalidOperation\n\nGROUPED_NUMBER = re.compile(r"-?\\d{1,3}(,\\d{3})+(\\.\\d+)?")\n',
        ),
        Edit(
            "tally/amounts.py",
            '''    """Read `12.50` and the like."""
    try:
        return Amount(Decimal(text), currency)''',
            '''    """Read `12.50`, `1,250.00` and the like."""
    if "," in text:
        if not GROUPED_NUMBER.fullmatch(text):
            raise ValueError(f"not an amount: {text}")
        text = text.replace(",", "")
    try:
        return Amount(Decimal(text), currency)''',
        ),
    ),
    slip=(
        """        if not GROUPED_NUMBER.fullmatch(text):
            raise ValueError(f"not an amount: {text}")
        text""",
        "        text",
    ),
    module="tests.test_amounts",
    commit="Accept commas between thousands",
    docs=Edit(
        "docs/format.md",
        "A line that begins with `#` is a comment.",
        "An amount may have a comma between thousands: `1,250.00`.\n"
        "A line that begins with `#` is a comment.",
    ),
    correction="""Instead of a check inside parse_amount, put the rule into a function \
strip_grouping in the same file. Keep GROUPED_NUMBER private to the module, nothing else must \
import it.""",
    corrected=(
        Edit(
            "tally/amounts.py",
            """    if "," in text:
        if not GROUPED_NUMBER.fullmatch(text):
            raise ValueError(f"not an amount: {text}")
        text = text.replace(",", "")
    try:""",
            """    text = strip_grouping(text)
    try:""",
        ),
        Edit(
            "tally/amounts.py",
            "def parse_amount(",
            '''def strip_grouping(text: str) -> str:
    """The number without commas between its thousands."""
    if "," in text and not GROUPED_NUMBER.fullmatch(text):
        raise ValueError(f"not an amount: {text}")
    return text.replace(",", "")


def parse_amount(''',
        ),
    ),
)

REFUNDS = Job(
    name="refunds",
    request="""format_amount shows a refund as -3.00 EUR, and accountants want (3.00) EUR. Add a \
keyword argument `brackets` to format_amount, off by default. You must not change what existing \
callers print. Never round in format_amount beyond the two digits it has now.""",
    tasks=(
        "Test bracketed negative amounts",
        "Add the brackets argument to format_amount",
        "Use brackets in month_report only when asked",
    ),
    looks=("tally/amounts.py", "tally/report.py", "tests/test_amounts.py", "tally/cli.py"),
    names=("format_amount", "month_report"),
    finding="`format_amount` has three callers: `run_command`, `month_report` and a test.",
    tests=(
        _case(
            "tests/test_amounts.py",
            'self.assertEqual(format_amount(Amount(Decimal("3"), "EUR")), "3.00 EUR")',
            """
    def test_format_refund_in_brackets(self):
        refund = Amount(Decimal("-3"), "EUR")
        self.assertEqual(format_amount(refund, brackets=True), "(3.00) EUR")
        self.assertEqual(format_amount(refund), "-3.00 EUR")
""",
        ),
    ),
    changes=(
        Edit(
            "tally/amounts.py",
            """def format_amount(amount: Amount) -> str:
    return""",
            """def format_amount(amount: Amount, *, brackets: bool = False) -> str:
    if brackets and amount.value < 0:
        return f"({-amount.value:.2f}) {amount.currency}"
    return""",
        ),
    ),
    slip=('f"({-amount.value:.2f})', 'f"({amount.value:.2f})'),
    module="tests.test_amounts",
    commit="Show refunds in brackets when asked",
    question=Question(
        "Should brackets also apply to an amount of exactly zero?",
        ("Only negative amounts", "Zero as well"),
        "Only negative amounts",
    ),
)

PAYEES = Job(
    name="payees",
    request="""Payees may contain a quote, written as two quotes: "Joe ""The"" Baker". ENTRY_LINE \
in tally/parser.py does not allow that. Make parse_line accept it and give the payee with single \
quotes removed twice. Always keep the line number in SyntaxProblem. Do not add a dependency.""",
    tasks=(
        "Reproduce the refused payee in tests/test_parser.py",
        "Allow doubled quotes in ENTRY_LINE",
        "Undouble the quotes in parse_line",
        "Describe quotes in docs/format.md",
    ),
    looks=("tally/parser.py", "tests/test_parser.py", "tally/errors.py", "docs/format.md"),
    names=("ENTRY_LINE", "SyntaxProblem"),
    finding='`ENTRY_LINE` reads a payee as `[^"]*`, so the first inner quote ends it.',
    tests=(
        _case(
            "tests/test_parser.py",
            'self.assertEqual(entry.payee, "Corner shop")',
            """
    def test_payee_with_doubled_quotes(self):
        entry = parse_line('2026-03-01 "Joe ""The"" Baker" expenses:food 2.00 EUR', 1)
        self.assertEqual(entry.payee, 'Joe "The" Baker')
""",
        ),
    ),
    changes=(
        Edit("tally/parser.py", '(?P<payee>[^"]*)"', '(?P<payee>(?:[^"]|"")*)"'),
        Edit(
            "tally/parser.py",
            'Entry(day, match["payee"],',
            """Entry(day, match["payee"].replace('""', '"'),""",
        ),
    ),
    slip=("""replace('""', '"')""", """replace('"', '')"""),
    module="tests.test_parser",
    commit="Accept doubled quotes in payees",
    docs=Edit(
        "docs/format.md",
        "Accounts are names with colons",
        'A quote in a payee is written twice: `"Joe ""The"" Baker"`. Accounts are names with colons',
    ),
)

BUDGETS = Job(
    name="budgets",
    request="""`tally budget` ignores accounts below a limit: with a limit for expenses, the entries \
of expenses:food do not count. budget_lines should sum the account and everything below it. Prefer \
roll_up or a helper next to it over a second loop in tally/cli.py. Don't change Settings.""",
    tasks=(
        "Add a failing test for nested accounts in the budget",
        "Sum nested accounts in budget_lines",
        "Run the whole suite",
    ),
    looks=("tally/budget.py", "tally/balance.py", "tests/test_budget.py", "tally/config.py"),
    names=("budget_lines", "roll_up", "BudgetLine"),
    finding="`budget_lines` looks up `(account, currency)` and nothing below it.",
    tests=(
        _case(
            "tests/test_budget.py",
            'self.assertEqual(lines[0].remaining, Decimal("5.00"))',
            """
    def test_accounts_below_a_limit_count(self):
        lines = budget_lines(balances_of(iter_entries(BOOK)), {"expenses": Decimal(30)}, "EUR")
        self.assertEqual(lines[0].spent, Decimal("24.00"))

    def test_a_longer_name_does_not_count(self):
        lines = budget_lines(balances_of(iter_entries(BOOK)), {"exp": Decimal(30)}, "EUR")
        self.assertEqual(lines[0].spent, Decimal("0"))
""",
        ),
    ),
    changes=(
        Edit(
            "tally/budget.py",
            "from tally.balance import Balances",
            "from tally.balance import Balances, sum_below",
        ),
        Edit(
            "tally/balance.py",
            "def roll_up(",
            '''def sum_below(balances: Balances, account: str, currency: str) -> Decimal:
    """The sum of an account and the accounts below it."""
    return sum(
        (
            value
            for (name, unit), value in balances.items()
            if unit == currency and (name == account or name.startswith(account + ":"))
        ),
        Decimal(0),
    )


def roll_up(''',
        ),
        Edit(
            "tally/budget.py",
            """        spent = balances.get((account, currency), Decimal(0))
""",
            """        spent = sum_below(balances, account, currency)
""",
        ),
    ),
    slip=("sum_below(balances, account, currency)", "sum_below(balances, account)"),
    module="tests.test_budget",
    commit="Count nested accounts in the budget",
)

CSV_QUOTES = Job(
    name="csv",
    request="""The CSV export breaks when a payee contains a comma. Use the csv module of the standard \
library in tally/export_csv.py. Make sure CSV_HEADER stays exactly as it is, other programs depend \
on it. No need to support other delimiters.""",
    tasks=(
        "Test a payee with a comma",
        "Write rows with csv.writer in to_csv",
        "Check the line endings of the export",
    ),
    looks=("tally/export_csv.py", "tests/test_export.py", "tally/cli.py", "tally/export_json.py"),
    names=("to_csv", "CSV_HEADER"),
    finding="`to_csv` joins the fields with commas and quotes nothing.",
    tests=(
        _case(
            "tests/test_export.py",
            "self.assertTrue(to_csv(iter_entries(BOOK)).startswith(CSV_HEADER))",
            """
    def test_payee_with_comma_is_quoted(self):
        entries = iter_entries('2026-03-01 "Smith, Sons" expenses:food 2.00 EUR')
        self.assertIn('"Smith, Sons"', to_csv(entries))

    def test_csv_has_unix_line_ends(self):
        self.assertNotIn(chr(13), to_csv(iter_entries(BOOK)))
""",
        ),
    ),
    changes=(
        Edit(
            "tally/export_csv.py",
            "from collections.abc import Iterable",
            "import csv\nimport io\nfrom collections.abc import Iterable",
        ),
        Edit(
            "tally/export_csv.py",
            """        lines.append(",".join(fields))
    return "\\n".join(lines) + "\\n"
""",
            """        writer.writerow(fields)
    return buffer.getvalue()
""",
        ),
        Edit(
            "tally/export_csv.py",
            """    lines = [CSV_HEADER]
    for entry in entries:""",
            """    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\\n")
    writer.writerow(CSV_HEADER.split(","))
    for entry in entries:""",
        ),
    ),
    slip=(', lineterminator="\\n"', ""),
    module="tests.test_export",
    commit="Quote fields in the CSV export",
)

JSON_DECIMALS = Job(
    name="json",
    request="""The JSON export turns 12.10 into a float. Money must never become a float: export the \
value as a string. Only entry_to_dict may change; to_json keeps its indent of two. Don't rename any \
key.""",
    tasks=(
        "Test that values are exported as strings",
        "Export decimal values as text in entry_to_dict",
        "Mention it in docs/commands.md",
    ),
    looks=("tally/export_json.py", "tests/test_export.py", "docs/commands.md"),
    names=("entry_to_dict", "to_json"),
    finding="`entry_to_dict` calls `float` on the value.",
    tests=(
        _case(
            "tests/test_export.py",
            "self.assertEqual(len(json.loads(to_json(iter_entries(BOOK)))), 3)",
            """
    def test_json_values_are_exact(self):
        entries = json.loads(to_json(iter_entries(BOOK)))
        self.assertEqual(entries[0]["value"], "12.50")
""",
        ),
    ),
    changes=(
        Edit(
            "tally/export_json.py",
            '"value": float(entry.amount.value),',
            '"value": str(entry.amount.value),',
        ),
    ),
    slip=("str(entry.amount.value)", "str(float(entry.amount.value))"),
    module="tests.test_export",
    commit="Export exact values as JSON strings",
    docs=Edit(
        "docs/commands.md",
        "csv|json`: all entries.",
        "csv|json`: all entries. JSON has each value as a string, so that no digit is lost.",
    ),
)

TABLES = Job(
    name="tables",
    request="""Amounts in tables should be aligned to the right. Give render_table an argument \
`right`, a set of column numbers. Keep the default as it is. month_report should use it for the \
amounts, instead of padding by hand.""",
    tasks=(
        "Test right-aligned columns",
        "Add the right argument to render_table",
        "Align the amounts of month_report",
    ),
    looks=("tally/table.py", "tests/test_table.py", "tally/report.py", "tests/test_report.py"),
    names=("render_table", "column_widths"),
    finding="`render_table` pads every cell with `ljust`.",
    tests=(
        _case(
            "tests/test_table.py",
            'self.assertEqual(render_table([["a", "1"], ["bbb", "2"]]), "a    1\\nbbb  2")',
            """
    def test_right_column(self):
        shown = render_table([["a", "1"], ["b", "22"]], right={1})
        self.assertEqual(shown, "a   1\\nb  22")
""",
        ),
    ),
    changes=(
        Edit(
            "tally/table.py",
            "def render_table(rows: Sequence[Sequence[str]]) -> str:",
            "def render_table(rows: Sequence[Sequence[str]], right: Set[int] = frozenset()) -> str:",
        ),
        Edit("tally/table.py", "import Sequence", "import Sequence, Set"),
        Edit(
            "tally/report.py",
            "    return render_table(rows)",
            "    return render_table(rows, right={1})",
        ),
        Edit(
            "tally/table.py",
            """        cells = [cell.ljust(width) for cell, width in zip(row, widths)]
""",
            """        cells = [
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths))
        ]
""",
        ),
    ),
    slip=("enumerate(zip(row, widths))", "enumerate(zip(row, widths), start=1)"),
    module="tests.test_table",
    commit="Align columns to the right when asked",
)

PAYEE_FILTER = Job(
    name="payee-filter",
    request="""by_payee in tally/filters.py should ignore case, and umlauts must work: use casefold, \
not lower. Do not change by_account here. Afterwards remove tally/old_export.py, nothing uses it \
any more.""",
    tasks=(
        "Test by_payee with other case",
        "Use casefold in by_payee",
        "Remove tally/old_export.py",
    ),
    looks=("tally/filters.py", "tests/test_filters.py", "tally/old_export.py"),
    names=("by_payee", "legacy_lines"),
    finding="`by_payee` compares the words as they are; `legacy_lines` has no caller.",
    tests=(
        Edit(
            "tests/test_filters.py",
            "import by_account, by_month",
            "import by_account, by_month, by_payee",
        ),
        _case(
            "tests/test_filters.py",
            'self.assertEqual(len(list(by_account(iter_entries(BOOK), "expenses:food"))), 2)',
            """
    def test_payee_ignores_case(self):
        self.assertEqual(len(list(by_payee(iter_entries(BOOK), "CORNER"))), 2)
""",
        ),
    ),
    changes=(
        Edit(
            "tally/filters.py",
            "    return (entry for entry in entries if words in entry.payee)",
            """    wanted = words.casefold()
    return (entry for entry in entries if wanted in entry.payee.casefold())""",
        ),
    ),
    slip=("if wanted in entry.payee.casefold()", "if wanted in entry.payee"),
    module="tests.test_filters",
    commit="Filter payees without regard to case",
    removes=("tally/old_export.py",),
)

QUARTERS = Job(
    name="quarters",
    request="""`tally report` should take a quarter as well: --month 2026-Q1. Put quarter_of next to \
month_of in tally/dates.py and let in_month understand both. Don't add a second option to the \
command line. Make sure an unknown form such as 2026-Q5 is an error, never an empty report.""",
    tasks=(
        "Test quarters in tests/test_filters.py",
        "Add quarter_of and extend in_month",
        "Refuse quarters that do not exist",
        "Document quarters in docs/commands.md",
    ),
    looks=("tally/dates.py", "tally/filters.py", "tally/report.py", "tests/test_filters.py"),
    names=("in_month", "month_of", "by_month"),
    finding="`in_month` compares two texts, so a quarter never matches.",
    tests=(
        _case(
            "tests/test_filters.py",
            'self.assertEqual(len(list(by_month(iter_entries(BOOK), "2026-03"))), 2)',
            """
    def test_quarter(self):
        self.assertEqual(len(list(by_month(iter_entries(BOOK), "2026-Q1"))), 2)
        self.assertEqual(len(list(by_month(iter_entries(BOOK), "2026-Q2"))), 1)

    def test_unknown_quarter(self):
        with self.assertRaises(ValueError):
            list(by_month(iter_entries(BOOK), "2026-Q5"))
""",
        ),
    ),
    changes=(
        Edit(
            "tally/dates.py",
            "import datetime\n",
            'import datetime\nimport re\n\nQUARTER_FORM = re.compile(r"\\d{4}-Q[1-4]")\n',
        ),
        Edit(
            "tally/dates.py",
            """    return month_of(day) == month
""",
            """    if "Q" in month:
        if not QUARTER_FORM.fullmatch(month):
            raise ValueError(f"not a quarter: {month}")
        return quarter_of(day) == month
    return month_of(day) == month


def quarter_of(day: datetime.date) -> str:
    return f"{day.year:04d}-Q{(day.month - 1) // 3 + 1}"
""",
        ),
    ),
    slip=("(day.month - 1) // 3 + 1", "day.month // 3 + 1"),
    module="tests.test_filters",
    commit="Report on a quarter",
    docs=Edit(
        "docs/commands.md",
        "the entries of a month, grouped by account.",
        "the entries of a month, or of a quarter (`2026-Q1`), grouped by account.",
    ),
    question=Question(
        "Should a quarter follow the calendar year or a financial year from April?",
        ("Calendar year", "Financial year from April"),
        "Calendar year",
    ),
)

TAGS = Job(
    name="tags",
    request="""Entries have a field `tags` that nothing fills. Let a line end with words such as \
#trip #work after the currency, and put them into Entry.tags without the hash. A comment line must \
still be a comment. Keep Entry frozen. Should not slow down reading: one regular expression only.""",
    tasks=(
        "Test tags at the end of a line",
        "Extend ENTRY_LINE by tags",
        "Fill Entry.tags in parse_line",
    ),
    looks=("tally/parser.py", "tally/entries.py", "tests/test_parser.py", "tally/reader.py"),
    names=("ENTRY_LINE", "account_parts", "parse_line"),
    finding="`ENTRY_LINE` ends with the currency; `Entry.tags` is always empty.",
    tests=(
        _case(
            "tests/test_parser.py",
            'self.assertIsNone(parse_line("# nothing", 1))',
            """
    def test_tags(self):
        entry = parse_line('2026-03-01 "Train" expenses:travel 20.00 EUR #trip #work', 1)
        self.assertEqual(entry.tags, ("trip", "work"))
""",
        ),
    ),
    changes=(
        Edit(
            "tally/parser.py",
            "    return Entry(",
            '    tags = tuple(word.lstrip("#") for word in match["tags"].split())\n    return Entry(',
        ),
        Edit("tally/parser.py", 'match["account"], amount)', 'match["account"], amount, tags)'),
        Edit(
            "tally/parser.py",
            "(?P<currency>[A-Z]{3})$'",
            "(?P<currency>[A-Z]{3})(?P<tags>(?:\\s+#\\w+)*)$'",
        ),
    ),
    slip=("(?:\\s+#\\w+)*", "(?:\\s#\\w)*"),
    module="tests.test_parser",
    commit="Read tags at the end of an entry",
)

STDIN = Job(
    name="stdin",
    request="""`tally balance -` should read from standard input. Do it in read_entries, all commands \
get it then. Never close stdin. Don't read the file twice. Instead of a global, pass the stream in \
as an argument with a default.""",
    tasks=(
        "Test read_entries with a stream",
        "Read from a stream for the path -",
        "Show the dash in README.md",
    ),
    looks=("tally/reader.py", "tally/cli.py", "tests/test_cli.py", "README.md"),
    names=("read_entries", "iter_entries", "run_command"),
    finding="`read_entries` takes a path and reads it whole; four commands call it through `run_command`.",
    tests=(
        Edit(
            "tests/test_cli.py",
            "from tally.cli import main",
            "from tally.cli import main\nfrom tally.reader import read_entries",
        ),
        _case(
            "tests/test_cli.py",
            'self.assertIn("expenses:fun", shown)',
            """
    def test_stream_for_dash(self):
        entries = read_entries(Path("-"), stream=io.StringIO(BOOK))
        self.assertEqual(len(entries), 3)
""",
        ),
    ),
    changes=(
        Edit(
            "tally/reader.py",
            "from collections.abc import Iterator\nfrom pathlib import Path\n",
            "import sys\nfrom collections.abc import Iterator\nfrom pathlib import Path\nfrom typing import TextIO\n",
        ),
        Edit(
            "tally/reader.py",
            """def read_entries(path: Path) -> list[Entry]:
    return""",
            """def read_entries(path: Path, stream: TextIO | None = None) -> list[Entry]:
    if str(path) == "-":
        return list(iter_entries((stream or sys.stdin).read()))
    return""",
        ),
    ),
    slip=('str(path) == "-"', 'path == "-"'),
    module="tests.test_cli",
    commit="Read a ledger from standard input",
    docs=Edit(
        "README.md",
        "See docs/format.md",
        "With `-` instead of a file, tally reads standard input.\n\nSee docs/format.md",
    ),
)

JOBS: dict[str, Job] = {
    job.name: job
    for job in (
        THOUSANDS,
        REFUNDS,
        PAYEES,
        BUDGETS,
        CSV_QUOTES,
        JSON_DECIMALS,
        TABLES,
        PAYEE_FILTER,
        QUARTERS,
        TAGS,
        STDIN,
    )
}
