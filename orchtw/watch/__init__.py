"""Rules of watches: entries, event log, frames, groups that share them, members with a cursor, dispatch index.

Sans-IO: a member drives a sink, time is an argument. Sockets are in `serving`, the cache that feeds it in
`storage`.
"""
