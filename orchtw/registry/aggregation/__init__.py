"""APIServices: those of this server, those of aggregated servers, and their availability (reference AGG-1 to AGG-3).

`services.py` follows the objects and answers all questions about them. `orchtw.proxy.aggregation` forwards requests.
"""
