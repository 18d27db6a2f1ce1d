"""Memory that the process may use, and objects that the garbage collector need not visit."""
