"""Who serves which API: the APIServices, those that this server makes for itself, and whether the others work
(reference AGG-1 to AGG-3).

`services.py` follows the objects, and is what everybody asks. Requests are passed on in `verbs/aggregated.py`.
"""
