"""Plain rows for the views, as pure functions of a recorded run."""
