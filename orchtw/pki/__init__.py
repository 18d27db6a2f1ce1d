"""Keys and certificates of a data folder: generated at the first start, checked and renewed at later ones.

`first_start.prepare` is the entry point; `certificates` issues and checks X.509 certificates, `files` does the file
I/O, `kubeconfig` composes the administrator's kubeconfig. Client authentication is in `authn`.
"""
