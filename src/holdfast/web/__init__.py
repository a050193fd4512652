"""The page: what needs a person, what runs, what it costs. Only `holdfast serve` loads it."""
