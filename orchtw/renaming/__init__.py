"""Translation of stored objects from one vocabulary to the other: a table of identifiers, and their new names.

Nothing here does I/O: functions map canonical dicts and strings, and free text is never searched.
`registry.rewriting` uses it to rewrite a store once, when that is opened under another vocabulary.
"""
