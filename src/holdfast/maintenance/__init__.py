"""Status, history, health and upkeep of a workspace."""
