"""The emergency stop. What the rest of the house may know of this feature."""

from holdfast.registry import Feature, StreamKind, Verb

FEATURE = Feature(
    "estop",
    rank=55,
    streams=[
        StreamKind(
            "stop",
            "holdfast.estop.rules.stop",
            is_decided=True,
            mirrored=True,
            follower="holdfast.estop.stop",
            acts=("release",),
        )
    ],
    holds={"stop:workspace": "holdfast.estop.stop:list_missing"},
    describe="holdfast.estop.text:WORDS",
    verbs=[
        Verb(
            "estop",
            "Stop every agent of the workspace, now.",
            "Wait and approve",
            "holdfast.estop.cli",
        ),
        Verb("release", "Lift the emergency stop.", "Sessions and plans", "holdfast.estop.cli"),
    ],
    api={"stop": "holdfast.estop.api:stop", "release": "holdfast.estop.api:release"},
)
