"""The watch cache: all objects in memory by resource, with indexes, history and paged reads.

It follows a store's feed; the store behind it may be any of those beside this package.
"""
