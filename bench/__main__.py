"""All measurements in one run: a table on stdout, `bench/results/<UTC date>.json` for later.

A missed bar is printed as MISSED and is no failure of the run; a measurement that breaks is one.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import importlib.metadata
import json
import os
import platform
import sys
import time
import traceback
from typing import Any

import apsw

from bench.harness import Plan, Row, say, workplace
from holdfast.kernel.filesystem import kind_of

MEASUREMENTS = (
    "hook_process",
    "durable_record",
    "growth",
    "langgraph_store",
    "latest_state",
    "typed_commands",
    "away",
    "snapshot",
    "undo",
    "beat_load",
    "usage_check",
    "compaction",
    "observation",
    "page",
    "answers",
    "postgres_record",
)
# The figures that the documentation shows. Only a whole run on a quiet machine writes them.
FIGURES = os.path.join("docs", "figures", "bench.json")
RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")
PACKAGES = (
    "holdfast-agents",
    "apsw",
    "click",
    "langgraph-checkpoint-sqlite",
    "dbos",
    "psycopg",
    "distributed",
)
# Above this share of processor time that others take, ratios say little.
BUSY = 0.15


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, for a first look")
    parser.add_argument("--only", metavar="NAME", choices=MEASUREMENTS, action="append")
    options = parser.parse_args()
    names = options.only or MEASUREMENTS
    rows: dict[str, list[Row]] = {}
    broken: dict[str, str] = {}
    with workplace() as folder:
        facts = _facts(folder)
        for name in names:
            plan = Plan(quick=options.quick, folder=os.path.join(folder, name))
            os.mkdir(plan.folder)
            try:
                rows[name] = importlib.import_module(f"bench.{name}").measure(plan)
            except Exception as error:
                broken[name] = f"{type(error).__name__}: {error}"
                say(traceback.format_exc())
    facts["busy_after"] = _busy()
    facts["load_average"] = [round(value, 2) for value in os.getloadavg()]
    _print(rows, broken, facts)
    kind = "-quick" if options.quick else ""
    if options.only:
        kind += "-" + "-".join(names)
    _write(os.path.join(RESULTS, f"{facts['at'][:10]}{kind}.json"), rows, broken, facts)
    is_quiet = max(facts["busy_before"], facts["busy_after"]) <= BUSY
    if names == MEASUREMENTS and not options.quick and not broken and is_quiet:
        _write(FIGURES, rows, broken, facts)
    else:
        say(f"{FIGURES} stays as it is: it takes a whole run without --quick on a quiet machine")
    return 1 if broken else 0


def _facts(folder: str) -> dict[str, Any]:
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return {
        "at": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "sqlite": apsw.sqlite_lib_version(),
        "system": f"{platform.system()} {platform.release()}",
        "processors": os.cpu_count(),
        "file_system": kind_of(folder),
        "busy_before": _busy(),
        "versions": versions,
    }


def _busy() -> float:
    """The share of its processors' time that the machine spends while we do nothing."""
    before = _processor_times()
    time.sleep(1)
    spent = [after - earlier for earlier, after in zip(before, _processor_times(), strict=True)]
    # user, nice, system, idle, waiting for the disk, ...
    return 1 - (spent[3] + spent[4]) / max(1, sum(spent)) if spent else 0.0


def _processor_times() -> list[int]:
    try:
        with open("/proc/stat", encoding="ascii") as file:
            return [int(count) for count in file.readline().split()[1:]]
    except OSError:
        return []


def _print(rows: dict[str, list[Row]], broken: dict[str, str], facts: dict[str, Any]) -> None:
    table = [["what", "ours", "against", "ratio", "(blocks)", "bar", "", "peers, same base"]]
    for row in (row for measured in rows.values() for row in measured):
        table.append(
            [
                row.what,
                _amount(row.ours, row.unit),
                f"{_amount(row.base, row.unit)} {row.base_name}",
                f"{row.ratio:.2f}",
                f"{row.spread[0]:.2f}-{row.spread[1]:.2f}" if row.spread else "",
                f"{row.bar:g}",
                _verdict(row),
                ", ".join(_peer(name, value) for name, value in row.peers.items()),
            ]
        )
    table += [[name, "", "", "", "", "", "BROKEN", why] for name, why in broken.items()]
    widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
    print()
    for line in table:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print("  ".join(cells).rstrip())
    print()
    for row in (row for measured in rows.values() for row in measured):
        for name, detail in row.details.items():
            print(f"{row.what}: {name}: " + ", ".join(f"{k} {v:.4g}" for k, v in detail.items()))
        if row.remark:
            print(f"{row.what}: {row.remark}")
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    print(
        f"\n{facts['python']}, SQLite {facts['sqlite']}, {facts['system']}, "
        f"{facts['processors']} processors, {facts['file_system']}\n{versions}"
    )
    missed = sum(not row.met for measured in rows.values() for row in measured)
    print(f"{missed} bars missed, {len(broken)} measurements broken.")
    print(
        f"Other processes used {facts['busy_before']:.0%} of the processors before the run and "
        f"{facts['busy_after']:.0%} after it; load average "
        + ", ".join(f"{value:.2f}" for value in facts["load_average"])
        + "."
    )
    if max(facts["busy_before"], facts["busy_after"]) > BUSY:
        print("The machine was busy with something else: run it again.")


def _amount(value: float, unit: str) -> str:
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


def _verdict(row: Row) -> str:
    if not row.met:
        return "MISSED"
    return "met"


def _peer(name: str, value: float | str) -> str:
    return f"{name} {value}" if isinstance(value, str) else f"{name} {value:.2f}"


def _write(
    path: str, rows: dict[str, list[Row]], broken: dict[str, str], facts: dict[str, Any]
) -> None:
    results = {
        name: [{**vars(row), "ratio": row.ratio, "met": row.met} for row in measured]
        for name, measured in rows.items()
    }
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**facts, "results": results, "broken": broken}, file, indent=2)
        file.write("\n")
    say(f"written to {os.path.relpath(path)}")


if __name__ == "__main__":
    sys.exit(main())
