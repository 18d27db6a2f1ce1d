"""`orch-record`: records of a running server's writes, past states, exports and their replay.

`command` parses the command line; each subcommand that is longer than a request has a module. The server's side is
`orchtw.history`.
"""
