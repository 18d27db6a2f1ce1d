"""`orch-store`: care for a store from outside the server (reference STORE-17 and on).

`command` reads the command line; a module for each subcommand does the work. What knows SQLite is in
`orchtw/storage`.
"""
