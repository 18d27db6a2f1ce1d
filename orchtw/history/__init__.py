"""Record of the writes of this process's store: user, request, time and changed fields of each, with past states.

`--enable-history` turns it on, and `/debug/history` serves it; nothing here is imported otherwise. The recorder
follows the store's feed, as the cache does, and joins each change with its request, which travels with the write as a
note.
The command `orch-record` (`orchtw.commands.record`) is its client.
"""
