"""Measurements; each module says what it measures and how to run it."""

import os

# Before litellm is imported: else it asks the network for its price list.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
