"""What a test needs and a machine may lack."""

import os
from typing import NoReturn

import pytest


def missing(reason: object) -> NoReturn:
    """Skips for this reason; where everything must be there, fails."""
    if os.environ.get("CI"):
        pytest.fail(f"{reason}, and CI is set")
    pytest.skip(str(reason))


def kept(config: pytest.Config, name: str, elsewhere: pytest.TempPathFactory):
    """A folder that stays for the next session; without pytest's cache it does not."""
    if config.pluginmanager.hasplugin("cacheprovider"):
        return config.cache.mkdir(name)
    return elsewhere.mktemp(name)
