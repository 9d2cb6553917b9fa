"""Which recalled lines did a reply use? The threshold, and how often it is right.

    python -m benchmarks.recall.used [--seeds 400]

Twenty lines are shown: what people have said of their homes, things, moods and offices,
each in one of the direct wordings of the changing world. A reply retells none to three
of them in the oblique wordings, which share no more than name and value with them, among
sentences about nothing. The threshold is chosen by F1 on one half of the replies, and the
figures are those of the other half.
"""

import random
from collections.abc import Sequence

import click

from benchmarks.recall.phrases import phrasing
from benchmarks.tables import show
from mesa_memory.retrieval.overlap import MIN_OVERLAP, overlaps

#: lines that are shown together
SHOWN = 20
#: what says nothing of any line
CHATTER = (
    "I have thought about it for a while.",
    "It is a quiet day, and I shall go on as before.",
    "Let me see what I can do for the village.",
    "First I want to talk to somebody who knows more.",
    "I am not sure, but I would rather wait.",
    "The weather is fine, so I take a walk to the square.",
)
THRESHOLDS = tuple(step / 20 for step in range(2, 20))
DIRECT, OBLIQUE = (phrasing(name).aspects for name in ("plain", "oblique"))

type Scored = Sequence[tuple[float, bool]]


def reply(seed: int) -> list[tuple[float, bool]]:
    """The overlap of each line with one reply, and whether the reply retells it."""
    dice = random.Random(seed)
    kinds = [dice.randrange(len(DIRECT)) for _ in range(SHOWN)]
    lines, told = [], []
    for kind in kinds:
        name, value = f"Agent {dice.randrange(1, 13)}", dice.choice(DIRECT[kind].values)
        said = dice.choice(DIRECT[kind].own).format(v=value, n=name)
        lines.append(f"{name} says: {said}")
        retold = dice.choice(OBLIQUE[kind].others)
        told.append(retold.format(v=value, n=name))
    used = set(dice.sample(range(SHOWN), dice.randrange(4)))
    said = [told[place] for place in used] + dice.sample(CHATTER, dice.randrange(1, 4))
    dice.shuffle(said)
    found = overlaps(lines, " ".join(said))
    return [(overlap, place in used) for place, overlap in enumerate(found)]


def figures(scored: Scored, threshold: float) -> dict[str, float]:
    """Precision, recall and F1 of a threshold, in percent."""
    right = sum(used and overlap >= threshold for overlap, used in scored)
    named = sum(overlap >= threshold for overlap, _ in scored)
    there = sum(used for _, used in scored)
    precision, found = right / named if named else 0.0, right / there if there else 0.0
    both = precision + found
    f1 = 2 * precision * found / both if both else 0.0
    return {"precision": 100 * precision, "recall": 100 * found, "f1": 100 * f1}


@click.command()
@click.option("--seeds", default=400, show_default=True, help="How many replies.")
def main(seeds: int) -> None:
    """Chooses the threshold by one half of the replies, and tells of the other."""
    half = seeds // 2
    chosen_by = [pair for seed in range(half) for pair in reply(seed)]
    other = [pair for seed in range(half, seeds) for pair in reply(seed)]
    best = max(THRESHOLDS, key=lambda t: (figures(chosen_by, t)["f1"], -t))
    rows = [{"threshold": t, **figures(other, t)} for t in THRESHOLDS]
    show(f"Lines that {seeds - half} replies used, among {SHOWN} each", rows)
    click.echo(f"best by the first half: {best}; in the package: {MIN_OVERLAP}")


if __name__ == "__main__":
    main()
