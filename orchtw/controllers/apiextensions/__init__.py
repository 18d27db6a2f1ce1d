"""Controllers of custom resource definitions: names, conditions, serving, and finalization.

Every server process runs this, whatever its flags select: without it no custom resource is served.
"""
