All `orch-` commands have `--version`; `orch-store backup` shows its progress, and `orch-store compact` how much of the history is dropped.
