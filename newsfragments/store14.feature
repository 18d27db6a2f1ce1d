`orch-store` checks, backs up (while the server runs), restores, compacts, exports, imports and migrates a store. The
write-ahead log is folded into the file beside the writers, which shortens the longest waits of many writers; and with
their gates servers say in StorageVersion objects what they store.
