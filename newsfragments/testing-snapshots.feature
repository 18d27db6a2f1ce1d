The `reset` of a test server releases snapshots taken since the baseline, and `restore` and `release` accept ids.
