"""A person's word on the settings of a repository, without the terminal that asks for it."""

from __future__ import annotations

from holdfast.kernel import config, trust
from holdfast.kernel.workspace import Workspace, discover


def trust_settings(workspace: Workspace | None = None) -> None:
    """Trust the settings as they stand in the file now."""
    workspace = workspace or discover()
    guarded = config.guarded_in(config.from_file(workspace, None))
    trust.trust(workspace, trust.words_of(guarded), "2026-11-17T00:00:00.000Z")
