"""Tools, resources and prompts for clients that speak the Model Context Protocol.

Only `holdfast mcp` and `holdfast serve` import this package: the SDK costs as much as fifty bare
interpreters.
"""
