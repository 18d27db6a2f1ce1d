"""The request-level stages, one a file: each may fill in the request, answer it, or refuse it.

`orchtw.server` writes out which stages run and in what order (DESIGN rule 4).
"""
