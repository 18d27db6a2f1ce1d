"""The rules of watching: entries, the event log, frames, groups that share them, members with a cursor, the dispatch index.

Sans-IO: a member drives a sink, time is an argument. Sockets are in `serving`, the cache that feeds it in `storage`.
"""
