"""A compaction in the real Claude Code, from the typed command to its end: ours without a model, ours with the
client's summary, and the client's own, all against the same stub.

The stub answers at once. A model takes as long as it takes to write a summary, which `instant` does without.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from statistics import median

from scripts import plugins
from scripts.clients import CLIENTS, why_missing
from tests.real_clients.world import Claude

from bench.harness import Plan, Row, repository, say

OWN = "off"
SETTINGS = ("instant", "assist", OWN)
SUMMARY = "<summary>" + "What was done, and what is left to do. " * 300 + "</summary>"
ASKED = "Read parser.py. Don't touch its public names."


def measure(plan: Plan) -> list[Row]:
    missing = why_missing("claude")
    if missing:
        say(f"compaction: not measured. {missing}")
        return []
    samples: dict[str, list[float]] = {setting: [] for setting in SETTINGS}
    requests: dict[str, int] = {}
    for number in range(plan.rounds(3, 1)):
        for setting in SETTINGS:
            folder = Path(plan.folder, f"{setting}-{number}")
            taken, requests[setting] = _compact(folder, setting)
            samples[setting].append(taken)
            say(f"compaction: {setting} {taken:.2f} s, {requests[setting]} requests")
    times = {setting: median(taken) for setting, taken in samples.items()}
    return [
        Row(
            f"a compaction in Claude Code {CLIENTS['claude'].version}, instant",
            ours=times["instant"] * 1000,
            base=times[OWN] * 1000,
            base_name="the client's own, its model answering at once",
            unit="ms",
            bar=1.0,
            peers={"assist": times["assist"] / times[OWN]},
            details={
                setting: {"ms": times[setting] * 1000, "requests": float(requests[setting])}
                for setting in SETTINGS
            },
            remark=f"requests to the model: {requests['instant']} instant, {requests['assist']} "
            f"assist, {requests[OWN]} the client's own",
        )
    ]


def _compact(folder: Path, setting: str) -> tuple[float, int]:
    """Seconds from the command to its end, and the requests to the model in between."""
    folder.mkdir()
    market = folder / "market"
    shutil.copytree(plugins.PLUGINS, market / "plugins")
    shutil.copytree(plugins.ROOT / ".claude-plugin", market / ".claude-plugin")
    project = Path(os.path.realpath(repository(str(folder), "project")))
    (project / "holdfast.toml").write_text(f'[claude]\ncompaction = "{setting}"\n')
    (project / "parser.py").write_text("parse = str.split\n")
    claude = Claude(project, folder / "home")
    claude.install_plugin(market)
    summaries = [] if setting == "instant" else [{"text": SUMMARY}]
    run = claude.start(
        [],
        [claude.read("parser.py"), {"text": "FIRST-ANSWER"}, *summaries, {"text": "LAST-ANSWER"}],
        steps=[
            {"sees": "shift+tab to cycle", "type": [ASKED, "\r"]},
            {"sees": "FIRST-ANSWER", "type": []},
            # The turn's Stop hook is no part of the compaction.
            {"run": {"command": ["sleep", "3"]}, "type": ["/compact", "\r"]},
            {"sees": "Compacted", "type": ["/exit", "\r"]},
        ],
    )
    if run.code != 0 or run.times is None:
        raise RuntimeError(f"Claude Code did not compact: {run.told}")
    return run.times[3]["seen"] - run.times[2]["typed"], len(run.asked) - 2
