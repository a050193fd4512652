"""Notes in the words of people."""

from holdfast.parts import Words

WORDS = Words(words={"noted": "note"})
