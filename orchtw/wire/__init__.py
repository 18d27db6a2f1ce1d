"""Encodings below the API: JSON values, packed texts and HTTP/2 frames."""
