"""Command-line flags in general; the flags of this server are listed in `orchtw.config`."""
