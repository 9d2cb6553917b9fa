"""What the views show, as plain rows: pure functions of a recorded run."""
