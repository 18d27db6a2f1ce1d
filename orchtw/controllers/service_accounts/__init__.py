"""What each namespace has for its service accounts, and the tokens in their Secrets."""
