"""Custom resources: targets made from definitions, and the handling of their objects in writes."""
