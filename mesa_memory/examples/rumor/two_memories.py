"""The study behind the figure of the README: which memories let a correction spread?

python -m mesa_memory.examples.rumor.two_memories
"""

from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.experiments import Study


def believing(model):
    """Share of the town that believes the correction."""
    return model.believing("correction") / len(model.agents)


study = Study(
    RumorModel,
    {"memory": ["stlt", "episodic", "short_term"]},
    seeds=range(12),
    steps=40,
    outcomes={"believing the correction": believing},
    store="two_memories.sqlite",
    record=False,
)

if __name__ == "__main__":
    study.run()
    found = study.compare(base="stlt", margin=0.05)
    print(found)
    found.plot("pairs.png")
