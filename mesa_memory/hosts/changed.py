"""The error for a package whose names have changed."""

from importlib.metadata import PackageNotFoundError, version

from mesa_memory.errors import HostChanged


def changed(package: str, what: str, advice: str) -> HostChanged:
    """Makes the error for a name that is gone, or a call that is no longer made.

    Args:
        package: its name, as it is installed.
        what: the name that is missing.
        advice: what to do.
    """
    try:
        found = version(package)
    except PackageNotFoundError:  # a copy that is not installed
        found = "(not installed)"
    return HostChanged(
        f"{package} {found} is not as mesa-memory knows it: {what}. {advice}", package
    )
