"""A study that is run without a bar, and all its tables as text."""

TABLES = ("runs", "steps", "agents", "calls")


def run(study, executor="serial", **given):
    return study.run(executor, progress=False, **given)


def csv(study, but=()):
    """The tables by name, without some columns."""
    found = study.results()
    return {
        name: getattr(found, name).drop(columns=list(but), errors="ignore").to_csv()
        for name in TABLES
    }
