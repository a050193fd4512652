"""Programs that holdfast runs for others: started once, watched, bounded, and never left behind."""
