"""The files of clients' sessions that Holdfast keeps itself."""

from holdfast.kernel.places import YOU, Place

PLACES = [
    Place("user", "agent-sdk/*", "Transcripts of agents that use the Claude Agent SDK with `HoldfastSessionStore`; they are not redacted", "JSON lines", YOU),
]  # fmt: skip
