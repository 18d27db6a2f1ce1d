"""`orch-store`: maintenance of a store from outside the server (reference STORE-17 and on).

`command` parses the command line; each subcommand has a module. Code specific to SQLite is in `orchtw/storage`.
"""
