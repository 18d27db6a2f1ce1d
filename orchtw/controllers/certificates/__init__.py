"""What becomes of requests for certificates: approved, signed, and in the end deleted (reference CSR-1)."""
