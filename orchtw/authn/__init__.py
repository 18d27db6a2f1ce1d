"""Who asks: one module per method (client certificates, bearer tokens), and the union that tries them in order.

What the user may do is decided in `authz`. Only `server` and `filters` import this.
"""
