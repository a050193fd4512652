"""RFCs in a workspace: begin one, write its checkpoint, move it between phases, bootstrap it."""
