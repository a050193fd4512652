"""The protocols: pure rules over the kernel, none of which knows another."""
