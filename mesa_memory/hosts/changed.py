"""What is said when a package is not as it is known here."""

from importlib.metadata import PackageNotFoundError, version

from mesa_memory.errors import HostChanged


def changed(package: str, what: str, advice: str) -> HostChanged:
    """The error for a name that is gone, or a call that is no longer made.

    Args:
        package: its name, as it is installed.
        what: what was looked for, and found missing.
        advice: what to do.
    """
    try:
        found = version(package)
    except PackageNotFoundError:  # a copy that is not installed
        found = "(not installed)"
    return HostChanged(
        f"{package} {found} is not as mesa-memory knows it: {what}. {advice}", package
    )
