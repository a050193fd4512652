"""Speed and size, as ratios within one run: `make bench`."""
