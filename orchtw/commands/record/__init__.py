"""`orch-record`: records of a running server's writes, past states, exports and their replay.

`command` parses the command line. `orchtw.exports` makes and repeats exports; the server's side is `orchtw.history`.
"""
