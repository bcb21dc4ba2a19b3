"""The page: plain ES modules in `static/`, served as they are."""
