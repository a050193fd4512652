"""What runs programs for a feature and can be killed at any instant: its folder and lease, its attempts, its stops."""
