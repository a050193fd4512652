"""Runs whose tasks are carried out by the workers of a Dask cluster."""
