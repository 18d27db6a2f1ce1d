"""Commands beside the server: they read and write files, so they are not part of the pure band."""
