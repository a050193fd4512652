"""Plans in waves (PILOT). What the rest of the house may know of this feature."""

from holdfast.registry import Feature, Setting, StreamKind, Verb

FEATURE = Feature(
    "plans",
    rank=63,
    streams=[
        StreamKind("run", "holdfast.plans.rules.run"),
        StreamKind("flight", "holdfast.plans.rules.flight"),
        StreamKind("logbook", "holdfast.plans.rules.logbook"),
    ],
    settings={
        "plan.agent": Setting(
            "",
            "The command that gets a task without `<run>` on its standard input, such as `claude -p`.",
            guard="run this command for each task of a plan",
        ),
        "plan.fix": Setting(
            "",
            "The command that gets what a person found at a checkpoint, and mends it; then they are asked again.",
            guard="run this command after a person found something at a checkpoint",
        ),
        "plan.goals": Setting(
            "",
            "A command that looks whether a phase's goals are met; each line it prints is one that is not.",
            guard="run this command at the end of a phase",
        ),
        "plan.jobs": Setting(4, "How many tasks of a run are at work at the same time."),
        "plan.tries": Setting(3, "How often a task may fail before its run stops."),
        "plan.seconds": Setting(0, "How long a task may run; 0 is without a limit."),
        "plan.on": Setting(
            "",
            "Where a run's tasks are carried out: `local`, or a Dask scheduler such as `tls://scheduler.example:8786`; empty is `local`.",
            guard="send the tasks of plans, and your work, to this scheduler",
        ),
        "plan.remote": Setting(
            "origin",
            "The git remote by which work goes to workers that do not see this disk, and comes back.",
            guard="push work to this git remote",
        ),
    },
    variables={
        "HOLDFAST_RUN": "The plan's run that a program belongs to; set by it, not by you.",
        "HOLDFAST_PHASE": "The phase of that program's plan.",
        "HOLDFAST_PLAN": "The plan of that program.",
        "HOLDFAST_TASK": "Its task, as `phase/plan#key`.",
        "HOLDFAST_ATTEMPT": "Which start of the task it is; by it, what is left behind is found.",
        "HOLDFAST_ISSUES": "What a person found at a checkpoint, for the command of `plan.fix`.",
    },
    describe="holdfast.plans.text:WORDS",
    places="holdfast.plans.files:PLACES",
    attention="holdfast.plans.attention:find",
    offers={
        "gate_of_run": "holdfast.plans.runs:find_gate_of_run",
        "command_after_gate": "holdfast.plans.runs:find_command_after_gate",
    },
    verbs=[
        Verb(
            "plan",
            "Run plans in waves, and continue them after a stop.",
            "Many agents",
            "holdfast.plans.cli",
            inner={
                "new": "Write a plan to begin with.",
                "lint": "Check plan files for errors.",
                "graph": "Show the waves and dependencies, as text or for Mermaid.",
                "run": "Run plans.",
                "resume": "Continue a run exactly where it stopped.",
                "abandon": "Abandon a run, so that its plans can run again.",
                "show": "Show where a run is and why it waits.",
            },
            modules={
                "run": "holdfast.plans.cli_run",
                "resume": "holdfast.plans.cli_run",
                "abandon": "holdfast.plans.cli_run",
                "show": "holdfast.plans.cli_show",
            },
        ),
        Verb(
            "takeoff",
            "The same as plan run, with the options of autopilot.",
            "Sessions and plans",
            "holdfast.plans.cli_run",
        ),
        Verb(
            "cockpit",
            "The same as plan resume, with the options of autopilot.",
            "Sessions and plans",
            "holdfast.plans.cli_run",
        ),
    ],
    pages="holdfast.plans.pages:PAGES",
    api={"plans": "holdfast.plans.api:Plans"},
)
