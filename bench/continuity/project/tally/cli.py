"""The command line."""

import argparse
import sys
from pathlib import Path

from tally.amounts import Amount, format_amount
from tally.balance import balances_of
from tally.budget import budget_lines
from tally.config import load_settings
from tally.errors import TallyError
from tally.export_csv import to_csv
from tally.export_json import to_json
from tally.reader import read_entries
from tally.report import month_report
from tally.table import render_table

SETTINGS_FILE = Path(".tally.json")


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tally")
    commands = parser.add_subparsers(dest="command", required=True)
    balance = commands.add_parser("balance")
    balance.add_argument("file", type=Path)
    report = commands.add_parser("report")
    report.add_argument("file", type=Path)
    report.add_argument("--month", required=True)
    export = commands.add_parser("export")
    export.add_argument("file", type=Path)
    export.add_argument("--format", choices=("csv", "json"), default="csv")
    budget = commands.add_parser("budget")
    budget.add_argument("file", type=Path)
    return parser


def run_command(options: argparse.Namespace) -> str:
    entries = read_entries(options.file)
    if options.command == "report":
        return month_report(entries, options.month)
    if options.command == "export":
        return to_csv(entries) if options.format == "csv" else to_json(entries)
    if options.command == "budget":
        settings = load_settings(SETTINGS_FILE)
        lines = budget_lines(balances_of(entries), settings.limits, "EUR")
        return render_table([[one.account, str(one.remaining)] for one in lines])
    rows = [
        [account, format_amount(Amount(value, currency))]
        for (account, currency), value in sorted(balances_of(entries).items())
    ]
    return render_table(rows)


def main(arguments: list[str] | None = None) -> int:
    options = build_parser().parse_args(arguments)
    try:
        print(run_command(options))
    except TallyError as error:
        print(f"tally: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
