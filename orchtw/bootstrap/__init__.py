"""Objects that every installation has: made at the start, looked after every minute, one subject per module
(reference CTRL-6 to CTRL-9).

They are written through the registry like anybody's, whether requests may name their resource or not.
"""
