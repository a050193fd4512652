"""The person's channel in the words of people."""

from holdfast.parts import Words

WORDS = Words(tones={"refused": "bad"})
