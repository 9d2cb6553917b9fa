"""Park et al.'s diffusion as a study: which memory carries news, and invents none?

mesa-memory study estimate diffusion_study.py --llm openai/gpt-5-mini
mesa-memory study run diffusion_study.py
mesa-memory study results diffusion_study.py
"""

from mesa_memory import Study
from mesa_memory.examples.rumor.diffusion import MEASURES, DiffusionModel

study = Study(
    DiffusionModel,
    {
        "n_agents": 25,
        "memory": ["generative_agent", "stlt", "short_term"],
        "llm": "offline",
    },
    seeds=range(5),
    steps=20,
    outcomes=MEASURES,
    store="diffusion.sqlite",
    name="diffusion",
)
