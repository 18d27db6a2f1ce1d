"""What the objects of a namespace use of what is limited there: amounts, usage, scopes, quotas and limit ranges.

Nothing here does I/O. Who charges is the admission plugin, who counts again the controller; both measure with these.
"""
