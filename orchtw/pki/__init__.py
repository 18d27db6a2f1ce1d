"""Keys and certificates of a data folder: made at the first start, checked and renewed at later ones.

`first_start.prepare` is the entry; `certificates` makes and judges X.509 values, `files` reads and writes,
`kubeconfig` composes the administrator's file. Nothing here authenticates anybody: see `authn`.
"""
