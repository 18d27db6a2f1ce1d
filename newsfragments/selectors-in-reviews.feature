Authorization webhooks are sent the selectors of lists, watches and deletions of collections, and access reviews can ask about them.
