"""The way between this machine's spool and the server: the forwarder, and what it brings back."""
