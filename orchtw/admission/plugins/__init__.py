"""The built-in admission plugins, one a file; `orchtw.server` says which run and in what order."""
