"""What the API does for each verb on a resource, one verb a module in the order of seed 1 §1(6).

Verbs read options, call the cache or the write path, and hand bytes to the edge; errors travel as StatusError.
"""
