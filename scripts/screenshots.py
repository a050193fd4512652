"""Pictures of the page: real agents, real gates, the real server, a real browser.

All of them go to build/pictures; into docs/pictures only those that a document names. `make screenshots`
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

import holdfast
from holdfast.budgets.check import Budget
from holdfast.fleet import agents, updates
from holdfast.fleet.context import FleetContext
from holdfast.fleet.epic import find
from holdfast.gates import ask as asking
from holdfast.gates.ask import AskRequest
from holdfast.gates.lookup import GateContext
from holdfast.gates.rules import content as gate_content
from holdfast.kernel import clock
from holdfast.kernel.workspace import discover
from scripts.page_server import Serving
from scripts.page_stories import FOUND, SESSION, leave_session, stories

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "build" / "pictures"
KEPT = ROOT / "docs" / "pictures"
SAMPLES = ROOT / "tests/clients/usage/samples"
CHROMIUM = "/usr/bin/chromium"
HOLDFAST = [sys.executable, "-m", "holdfast"]
IDENTITY = ["-c", "user.name=docs", "-c", "user.email=docs@holdfast.invalid"]
DASHBOARD = """<body style="margin:0;font:16px sans-serif;display:flex;background:#eef1f5;height:100vh">
<nav style="width:200px;background:#22314a;color:#cfd8e6;padding:24px;line-height:2.4">Overview<br>Orders<br>Refunds<br>People</nav>
<main style="padding:28px;flex:1"><h1 style="margin:0 0 20px">Good morning, Ada</h1>
<div style="display:flex;gap:16px">{cards}</div>
<div style="background:#fff;border-radius:8px;height:260px;margin-top:16px;padding:20px">Orders this week</div></main>""".format(
    cards="".join(f'<div style="background:#fff;border-radius:8px;padding:20px;flex:1">{name}<h2>{value}</h2></div>' for name, value in (("Orders", "128"), ("Revenue", "$4,210"), ("Refunds", "3")))
)  # fmt: skip
STORIES = ("run", "session", "checkpoint", "budget", "rfc", "track", "fleet")
NO = dict.fromkeys(("cli", "api", "file", "server", "data", "script"), False)


def main() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        top = Path(os.path.realpath(folder))
        os.environ["XDG_STATE_HOME"] = str(top / "state")
        os.environ["HOME"] = str(top)
        running = [_process() for _ in range(5)]
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=CHROMIUM)
                shot = _dashboard(browser, top / "dashboard.png")
                roots = [str(_shop(top / "shop", shot, running)), str(_parser(top / "parser"))]
                with (
                    stories(top / "billing") as billing,
                    Serving([*roots, str(billing)]) as serving,
                ):
                    for scheme in ("light", "dark"):
                        _take(browser, serving, scheme)
                _first_look(browser, top / "tally")
                browser.close()
        finally:
            for process in running:
                process.kill()
                process.wait()
    _keep()


def _keep() -> None:
    """Those that the documents name, and no others."""
    documents = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    texts = "".join(path.read_text(encoding="utf-8") for path in documents)
    named = {picture for picture in PICTURES.glob("*.png") if f"pictures/{picture.name})" in texts}
    KEPT.mkdir(exist_ok=True)
    for old in KEPT.glob("*.png"):
        old.unlink()
    for picture in sorted(named):
        shutil.copy(picture, KEPT)
        print(f"kept: {picture.name}")


def _process() -> subprocess.Popen[bytes]:
    """An agent's process, for whoever looks whether it is alive."""
    return subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _dashboard(browser: Browser, path: Path) -> Path:
    """What an agent attaches: a picture of what it built."""
    page = browser.new_page(viewport={"width": 960, "height": 600})
    page.set_content(DASHBOARD)
    page.screenshot(path=path)
    page.close()
    return path


def _take(browser: Browser, serving: Serving, scheme: str) -> None:
    for name, width, height in (("wide", 1280, 800), ("narrow", 380, 780)):
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,  # type: ignore[arg-type]
            device_scale_factor=1 if name == "wide" else 2,
        )
        page = context.new_page()
        page.goto(serving.link())
        page.wait_for_url("**/board")
        page.wait_for_selector("#state[data-state=live]")
        page.wait_for_timeout(4000)  # until what was spent has been measured
        page.screenshot(path=PICTURES / f"board-{name}-{scheme}.png", full_page=name == "wide")
        for picture, gate in (("gate", "dashboard"), ("choice", "store")):
            page.goto(f"{serving.address.origin}/w/shop/gates/{gate}")
            page.wait_for_selector("#state[data-state=live]")
            page.screenshot(path=PICTURES / f"{picture}-{name}-{scheme}.png", full_page=True)
        page.set_viewport_size({"width": width, "height": height + 200})
        wanted = STORIES if (name, scheme) == ("wide", "light") else STORIES[:1]
        for story, path in _story_paths(page, serving, wanted):
            page.goto(serving.address.origin + path)
            page.wait_for_selector("#state[data-state=live]")
            page.screenshot(path=PICTURES / f"{story}-{name}-{scheme}.png")
        context.close()
    print(f"taken: {scheme}")


def _first_look(browser: Browser, root: Path) -> None:
    """The board of a workspace in which a client left a session, and nothing was set up."""
    _repository(root)
    leave_session(root)
    with Serving([str(root)]) as serving:
        page = browser.new_page(viewport={"width": 1280, "height": 620})
        page.goto(serving.link())
        page.wait_for_selector("#part-new .rows li")
        page.screenshot(path=PICTURES / "new-wide-light.png")
        page.locator("#part-new .rows a").click()
        page.set_viewport_size({"width": 1280, "height": 1180})
        page.wait_for_selector(".course")
        page.screenshot(path=PICTURES / "found-wide-light.png")
        for days, share in ((2, 0.6), (3, 0.9), (5, 0.25), (6, 0.75), (9, 0.4)):
            leave_session(root, days_ago=days, session=f"{days}{FOUND[1:]}", share=share)
        page.set_viewport_size({"width": 1280, "height": 620})
        page.goto(f"{serving.address.origin}/budget")
        page.wait_for_selector(".bars li:nth-child(6)", timeout=60_000)
        page.screenshot(path=PICTURES / "costs-wide-light.png")
        page.close()


def _story_paths(page: Page, serving: Serving, wanted: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The pages of one story each, by the links that a person follows."""
    session = f"/w/billing/sessions/{SESSION}"
    page.goto(f"{serving.address.origin}/work")
    run = page.locator("#runs ~ ul a").first.get_attribute("href") or ""
    page.goto(serving.address.origin + session)
    checkpoint = page.get_by_role("link", name="what changed").first.get_attribute("href") or ""
    paths = {
        "run": run,
        "session": session,
        "checkpoint": checkpoint,
        "budget": "/budget?workspace=billing",
        "rfc": "/w/billing/rfcs/auth-model",
        "track": "/w/billing/tracks/team-penalty",
        "fleet": "/fleet",
    }
    return ((story, paths[story]) for story in wanted)


def _repository(root: Path) -> None:
    root.mkdir()
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(root)], check=True)
    (root / "app.py").write_text("def main():\n    return 1\n")
    (root / ".gitignore").write_text("agent_c*\n.ccc-*\nEPIC_README.md\n.autopilot/\n")
    subprocess.run(["git", "add", "."], cwd=root, check=True)
    subprocess.run(["git", *IDENTITY, "commit", "--quiet", "-m", "first"], cwd=root, check=True)


def _shop(root: Path, shot: Path, running: list[subprocess.Popen[bytes]]) -> Path:
    """Agents in several moods, three gates, an alert."""
    _repository(root)
    workspace = discover(str(root))
    now = clock.now()

    def context(minutes_ago: float, pid: int) -> FleetContext:
        os.environ["HOLDFAST_AGENT_PID"] = str(pid)
        at = now - int(minutes_ago * clock.MINUTE)
        return FleetContext(find(workspace), workspace, actor="docs", now=at)

    def live(agent: str, feature: str, minutes_ago: float, pid: int, **command: object) -> None:
        transcript = _transcript(root.parent, agent)
        agents.start(context(minutes_ago + 20, pid), agent, feature=feature, transcript=transcript)
        updates.update(context(minutes_ago, pid), agent, {"do": "beat", **command})

    def step(text: str, stage: str = "S2.P2", done: int = 2, left: int = 3) -> dict[str, object]:
        return {
            "set": {
                "current_step": text,
                "stage": stage,
                "next_steps": [f"Step {number}" for number in range(left)],
            },
            "completed_steps": [f"Step {number} is done" for number in range(done)],
        }

    gone = _process()
    live("Agent-Primary", "feature_01_cart", 0.5, running[0].pid, **step("Reviewing the spec of feature_04", done=5, left=2))  # fmt: skip
    live("Secondary-A", "feature_02_checkout", 2, running[1].pid, **step("Writing acceptance criteria in spec.md"))  # fmt: skip
    live("Secondary-B", "feature_03_search", 12, running[2].pid, **step("Measuring the old ranking", done=1, left=4),
         busy_until=clock.stamp(now + 50 * clock.MINUTE), doing="cargo build")  # fmt: skip
    live("Secondary-C", "feature_04_invoices", 5, running[3].pid, **step("Reading the invoice feed", done=0, left=5))  # fmt: skip
    updates.update(context(4, running[3].pid), "Secondary-C", {"do": "block", "blocker": "The invoice feed has no key"})  # fmt: skip
    live("Secondary-D", "feature_05_refunds", 96, gone.pid, **step("Targeted research", done=1, left=6))  # fmt: skip
    live("Secondary-E", "feature_06_emails", 130, running[4].pid, **step("Done", done=7, left=0))
    updates.complete(context(64, running[4].pid), "Secondary-E")
    gone.kill()
    gone.wait()
    del os.environ["HOLDFAST_AGENT_PID"]
    (root / "app.py").write_text("def main():\n    return total() * 1.2\n\n\ndef total():\n    return 3\n")  # fmt: skip

    def ask(content: gate_content.Content, name: str, minutes_ago: int, holds: str, agent: str) -> None:  # fmt: skip
        at = now - minutes_ago * clock.MINUTE
        given = [str(shot)] if name == "dashboard" else []
        request = AskRequest(content=content, name=name, holds=holds, agent=agent, attach=given)
        asking.ask(GateContext(workspace, "docs", at), request)

    ask(gate_content.verify("User dashboard", ["Page loads without errors", "User data displays correctly", "Sidebar navigation works"], url="http://localhost:3000/dashboard", purpose="visual"), "dashboard", 12, "plan 06 from task 5", "Secondary-A")  # fmt: skip
    options: list[gate_content.GateOption] = [
        {"id": "postgres", "name": "PostgreSQL", "pros": "Teams run it already; many writers", "cons": "One more server to look after"},
        {"id": "sqlite", "name": "SQLite", "pros": "One file, nothing to run", "cons": "One machine at a time"},
        {"id": "redis", "name": "Redis", "pros": "Fast for the session cache", "cons": "Not durable as it is configured now"},
    ]  # fmt: skip
    ask(gate_content.decision("Select a store for sessions", options, context="Two agents write at once, and a third is planned.", purpose="technology"), "store", 41, "feature_02_checkout", "Agent-Primary")  # fmt: skip
    ask(gate_content.action("Complete email verification", ["Open the mail from the provider", "Click the link in it"], why="The link is in your inbox", cause="email", checklist=NO), "mail", 3, "", "Secondary-C")  # fmt: skip
    Budget(workspace, actor="docs").check({"cost": 26.5, "context": 12}, session="", now=now)
    workspace.close()
    for path in root.rglob("*"):
        if ".git" not in path.parts:
            os.utime(path, (now // 1000 - 7200, now // 1000 - 7200))
    return root


def _transcript(top: Path, agent: str) -> str:
    """What a client wrote down of a session: the one that the tests of `guard report` read."""
    sample = {"Agent-Primary": "claude.multiblock", "Secondary-A": "claude.compact"}.get(agent)
    if sample is None:
        return ""
    folder = top / ".claude" / "projects" / "shop"
    folder.mkdir(parents=True, exist_ok=True)
    return str(shutil.copy(SAMPLES / f"{sample}.jsonl", folder / f"{agent}.jsonl"))


def _parser(root: Path) -> Path:
    """A second workspace with a session."""
    _repository(root)
    subprocess.run(
        [
            *HOLDFAST,
            "checkpoint",
            "--issue",
            "CIA-7",
            "--title",
            "A parser",
            "--skip-git",
            "--task",
            "Handle quotes",
            "--done",
            "Split on blanks",
            "--remaining",
            "Docs",
            "--next",
            "make parse() keep quoted words together",
        ],
        cwd=root,
        check=True,
        capture_output=True,
    )
    with holdfast.open(str(root)) as workspace:
        workspace.note("The tokenizer is done.")
    return root


if __name__ == "__main__":
    main()
