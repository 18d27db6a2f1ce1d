An idle watch takes a sixth less memory, searches for reference cycles no longer hold up the server (`orchtw_gc_pause_seconds` shows them), and the store's log is cut back only when nobody writes.
