"""The handbook, and the command that writes the page of it that follows from the code. Not part of the package."""
