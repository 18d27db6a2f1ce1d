"""What becomes of custom resource definitions: their names, their state, what is served by them, and their end.

Every server process runs this, whatever controllers it was asked for: what is not served here is not served.
"""
