"""Controllers of custom resource definitions: names, conditions, serving, and finalization.

Every server process runs this, whatever controllers it was asked for: what is not served here is not served.
"""
