"""Continuity: how much of what comes next does a text for the next session name?

A recorded session is cut where its client compacted it, and in the middle of turns. What the session
did after the cut is the judge:

- FUTURE: the files, code names and commands of its next 25 tool calls, as far as they had occurred
  before the cut. Which share of them does the text name?
- CARRIED: the request under way, the person's rulings and answers, the headings of the plan, the open
  tasks. Which share of them is in the text?
- FALSE: tasks shown open that are done, commands shown failing that passed since, files shown that
  are gone. How many are in the text?

It needs no model and no labels. It does not measure reasoning or prose.

The judge reads sessions with the product's transcript readers. It finds everything else by its own
rules, on purpose: rulings, tasks, failures, names and deleted files. If it shared these with
`session.observe`, a mistake there would be a mistake here too, and the product could not fail.

`record.py` records sessions of the real clients, `judge.py` judges texts by them, `report.py` writes the pages.
"""
