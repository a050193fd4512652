"""The file of `holdfast away`."""

from holdfast.away.looked import FILE
from holdfast.kernel.places import UNINSTALL, Place

PLACES = [
    Place("user", FILE, "When you last looked at what happened: `holdfast away`", "JSON", UNINSTALL),
]  # fmt: skip
