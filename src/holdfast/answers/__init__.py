"""Answers to what a client asks its person, from the page or from another terminal."""
