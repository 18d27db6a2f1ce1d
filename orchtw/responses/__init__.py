"""Response bodies: content negotiation, representations of objects and lists, and watch frames."""
