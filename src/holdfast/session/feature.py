"""Sessions: checkpoint, resume, edits (CCC). What the rest of the house may know of this feature."""

from holdfast.registry import Feature, Setting, StreamKind, Verb

RULES = "holdfast.session.rules.session"
# Each with its module, its group in `--help`, and its line there.
VERBS = {
    "resume": ("resume", "Continue", "Check what changed, and print the text to continue from."),
    "go": ("resume", "Sessions and plans", "The same as resume."),
    "checkpoint": ("checkpoint", "Continue", "Capture this session before its context ends."),
    "edits": ("edits", "Undo", "Bring back edits of a session that the work tree lost."),
}

FEATURE = Feature(
    "session",
    rank=10,
    streams=[
        StreamKind("session", RULES, of_one_life=True, is_said=True, acts=("settle",)),
    ],
    settings={
        "session.stale_hours": Setting(
            24, "A session older than this resumes with the verdict STALE."
        ),
        "session.commit_message": Setting(
            "wip({issue}): checkpoint — task {number} of {total}: {task}",
            "The message of a checkpoint's commit.",
        ),
        "session.observe": Setting(
            True,
            "Read the clients' transcripts, so that a session's work is known without anybody stating it.",
        ),
        "session.ask_at_percent": Setting(
            60,
            "Ask the agent once for what cannot be observed (findings, dead ends, what is wanted, what is not done) once the context reaches this percentage; 0 disables it.",
        ),
        "session.ask_seconds": Setting(
            120, "How long `holdfast resume --ask` waits for the answer of a session that ended."
        ),
        "session.same_file": Setting(
            "tell",
            "What happens when two sessions in one worktree edit the same file: `tell` tells both once, `deny` denies the edit to the second.",
        ),
        "session.progress_file": Setting(
            "auto",
            "When hooks write `.ccc-progress.md`: `auto` where the CCC protocol is in use, `always`, or `commit`, "
            "which is always and visible to git. Otherwise Holdfast hides the file in `.git/info/exclude` when it creates it.",
        ),
        "session.pack_characters": Setting(9000, "How long the text for a resumed session may be."),
        "probe.seconds": Setting(60, "How long one probe of a claim may run."),
        "probe.tests": Setting(
            "",
            "The command behind the probe `tests`.",
            guard="run this command at a checkpoint with the probe `tests`",
        ),
    },
    describe="holdfast.session.text:WORDS",
    verbs=[
        Verb(name, line, group, f"holdfast.cli.verbs.{module}")
        for name, (module, group, line) in VERBS.items()
    ],
    tools="holdfast.session.mcp:TOOLS",
    checks=["holdfast.session.checks:check_progress_file"],
)
