"""Flow control: which requests are served at once, which wait and which are refused (reference FLOW-1 to FLOW-4).

`seating` and `dealer` are the rules of fair queues and know nothing of requests; `matching` says which flow a request
belongs to; `live` follows the objects that configure both. Whoever answers requests works with `control`, and the
stages of the line with what stands there. Nobody but the filters and the assembly imports this package.
"""
