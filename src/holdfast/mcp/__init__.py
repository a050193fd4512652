"""Tools, resources and prompts for clients that speak the Model Context Protocol.

Only `greeting` works without the SDK, which costs as much as fifty bare interpreters; nothing but `holdfast mcp` and a
site that mounts `server.app` imports the rest.
"""
