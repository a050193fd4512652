#!/usr/bin/env sh
# The stop handler of the CCC protocol: the automated profile at checkpoint gates. It never fails its
# host: whatever happens, the exit code is 0, and what was wrong is in `holdfast doctor`.
holdfast hook claude Stop || exit 0
