"""The API's own rules, as functions from values to values: what a request asks for, selectors, names,
metadata, query options, paging tokens and negotiation. Nothing here does I/O, knows the time or keeps more than
bounded caches of parsed text.
"""
