"""Adapters: what is outside (git, trackers, prices), each behind functions that speak our words."""
