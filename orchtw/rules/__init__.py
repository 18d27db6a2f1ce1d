"""Rules of the API as pure functions: request info, selectors, names, query options, continue tokens, negotiation.

Nothing here does I/O (but for logging and time zone files), reads a clock of its own, or keeps more than bounded
state.
"""
