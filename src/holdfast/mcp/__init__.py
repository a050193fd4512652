"""The agents' protocol: tools, resources and prompts for clients that speak MCP.

Loaded by `holdfast mcp` and `holdfast serve` alone: the SDK costs more than fifty bare interpreters.
"""
