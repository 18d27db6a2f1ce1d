A store opens under the other `--vocabulary`, too: it is rewritten once, in one transaction, and the log says how many objects that were.
