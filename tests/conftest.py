"""Every test has a provider's key, and nothing asks the network for a price list."""

import os

import pytest

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")


@pytest.fixture(autouse=True)
def _provider_key(monkeypatch):
    """Mesa-LLM asks for a key when an agent is made; nothing is ever sent with it."""
    monkeypatch.setenv("OPENAI_API_KEY", "test")
