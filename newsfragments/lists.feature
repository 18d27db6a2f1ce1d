Lists are consistent at one version through all their chunks, at the latest version or at any that the history still holds, with label and field selectors.
