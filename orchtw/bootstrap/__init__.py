"""Objects of every installation: made at the start, checked every minute (reference CTRL-6 to CTRL-9).

Each module has one subject. The objects are written through the registry like any others, even if requests may not
name their resource.
"""
