"""Plans at work: found, begun, run, waited for, resumed and read."""
