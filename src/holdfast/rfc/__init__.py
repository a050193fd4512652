"""RFCs in a workspace: their files read, their checkpoints written, their bootstrap put together."""
