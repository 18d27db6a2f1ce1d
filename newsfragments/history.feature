With `--enable-history` the server records every write with its user, request and changed fields, and `orch-record` follows it, shows past states and differences, and exports, imports and replays it.
