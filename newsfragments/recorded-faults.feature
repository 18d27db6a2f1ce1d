The record of `--enable-history` and `orch-record` have an entry of type FAULT for each fault on demand after which nothing was stored, with user, object, rule and answer.
