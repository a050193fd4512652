"""Issue trackers behind one port: `choose.tracker_for(issue, ...)`, and `upsert` does the rest.

Nothing is imported here: hooks ask this package only whether there is a key.
"""
