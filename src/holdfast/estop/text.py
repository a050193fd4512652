"""The emergency stop in the words of people."""

from holdfast.parts import Words

WORDS = Words(tones={"stopped": "bad"})
