"""``mesa-memory drift``: what summaries made of the statements they rest on."""

from collections import Counter

import click

from mesa_memory.cli.output import Output, opened, printed, say_loading

_SHARES = ("kept", "changed", "omitted")
_COLUMNS = ("kind", "generation", "statements", *_SHARES, "low", "high", "added")


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--agent", metavar="ID|NAME", help="Of this agent alone.")
@printed
def drift(run: str, agent: str | None, output: Output) -> None:
    """What did summaries keep, change, omit and add, by generation of rewriting?

    Generation 1 is made from events alone. The bounds are a 95% interval of the share
    that was kept. RUN is the path or address of a store; #3 after it is its third run.
    """
    say_loading()
    from mesa_memory.statistics.difference import share

    with opened(run) as found:
        fates = found.drift(agent, as_records=True)
    counts: dict[tuple[str, int], Counter[str]] = {}
    for row in fates:
        key = row["kind"], row["generation"]
        counts.setdefault(key, Counter())[row["fate"]] += 1
    rows = []
    for (kind, generation), own in sorted(counts.items()):
        number = sum(own[fate] for fate in _SHARES)
        told = {fate: round(own[fate] / number, 3) for fate in _SHARES if number}
        bounds = share(own["kept"], number)[1:] if number else (None, None)
        low, high = (each if each is None else round(each, 3) for each in bounds)
        place = {"kind": kind, "generation": generation, "statements": number}
        rows.append(place | told | {"low": low, "high": high, "added": own["added"]})
    title = "Share of statements kept, changed and omitted, and sentences added"
    output.table("drift", title, list(_COLUMNS), rows)
