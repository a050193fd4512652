"""The settings files of clients: what of them is ours, how it is put in, and how it is taken out."""
