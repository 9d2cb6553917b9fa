"""The page of a model that runs in this process."""
