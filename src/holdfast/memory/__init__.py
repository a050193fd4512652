"""Memory: find what past sessions of all clients did, also after their transcripts are gone."""
