"""The console: a page in the browser that shows and edits what the API serves (reference CONSOLE-1).

The page is static; all its data come from the API, with the rights of its user. It is imported only if a flag asks
for it.
"""
