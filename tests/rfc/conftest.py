"""The command line in a fresh repository, and RFCs at several points of their way."""

from __future__ import annotations

from tests.rfc import world

holdfast = world.holdfast
rfc = world.rfc
begun = world.begun
failed = world.failed
