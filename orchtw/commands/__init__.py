"""Command-line programs beside the server, and the entry point of its worker processes."""
