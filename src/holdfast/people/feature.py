"""The person's channel. What the rest of the house may know of this feature."""

from holdfast.registry import Feature, Setting, StreamKind

FEATURE = Feature(
    "people",
    rank=68,
    streams=[StreamKind("people", "holdfast.people.rules.people", is_decided=True)],
    settings={
        "gate.signers": Setting(
            "",
            "An allowed-signers file, as git uses it: what people decide counts only with their SSH signature.",
        ),
        "gate.key": Setting(
            "",
            "The SSH key that a person signs with; by default ~/.ssh/id_ed25519.",
            guard="sign what you decide with this key",
        ),
        "notify.urls": Setting(
            "",
            "Where people are told that a gate waits: apprise addresses, separated by blanks.",
            guard="send the titles of gates to these addresses",
        ),
        "notify.page": Setting(
            "",
            "The address of your page, such as `https://holdfast.example`: notifications lead there. Only from the environment: the address of a page on this machine is for its person alone.",
            environment_only=True,
        ),
    },
    describe="holdfast.people.text:WORDS",
)
