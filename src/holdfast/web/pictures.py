"""The pictures that agents attached to gates. They are served as images and never executed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from holdfast.gates import lookup, pictures

if TYPE_CHECKING:
    from holdfast.gates.rules.picture import Picture
    from holdfast.web.workspaces import Site

PICTURE = "/w/{workspace}/gates/{id}/pictures/{digest}"
# Instead of the pages' own policy: whatever a browser takes the bytes for, nothing in them loads or runs.
INERT = "default-src 'none'; sandbox; frame-ancestors 'none'"


def find_picture(site: Site, words: Mapping[str, str]) -> tuple[Picture, bytes]:
    """A picture by its digest; NotFound if the gate has no such picture, or its file is not here."""
    workspace = site.place(words["workspace"]).workspace
    return pictures.read(workspace, lookup.read(workspace, words["id"]), words["digest"])
