Events end an hour after they were last written, or after `--event-ttl`, and the store's history has a limit in bytes too; older versions do not open a store that this one has opened.
