"""The files of gates: the pictures that were attached to them."""

from holdfast.gates import pictures
from holdfast.kernel.places import GC, Place
from holdfast.parts import Copies

COPIES = Copies(find=pictures.find, remove_old=pictures.remove_old)
PLACES = [
    Place("home", "pictures/*", "Pictures that were attached to gates", "PNG, JPEG, WebP, GIF", GC + ", after `retention.days`", "file"),
    Place("tool", "pictures/*", "The same, of agents that may not write the journal's home", "PNG, JPEG, WebP, GIF", GC + ", after `retention.days`", "file"),
]  # fmt: skip
