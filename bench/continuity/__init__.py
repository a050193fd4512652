"""Continuity: does a text for the next session name what that session needs?

`record.py` records sessions of the real clients, `run.py` judges texts by them.
"""
