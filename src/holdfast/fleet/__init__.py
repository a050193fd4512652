"""FLEET at work: many agents at once over one epic's files, and the truth about who is alive."""
