"""The verbs. A module holds one verb, or those of one group."""
