"""What is promised about speed and cost, measured as ratios in the same run."""
