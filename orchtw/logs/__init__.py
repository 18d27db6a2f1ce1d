"""Log output: line formats, values that are safe to print, and verbosity levels."""
