"""Mesa-LLM's defects D34-D36: the grades of episodic memory."""

from tests.support.models import StubLLM, citizen, each, grades, live, said, seen

THREES = grades(lambda _: 3)


@each("EpisodicMemory")
def test_d34_the_grader_is_told_the_agents_task(make):
    llm = StubLLM(answer=THREES)
    memory = make(citizen(step_prompt="Find water."), llm)
    live(memory, seen("a well"))
    memory.get_prompt_ready()
    assert "Find water." in llm.asked


def _recalled(memory):
    memory.get_prompt_ready()
    best = memory.retrieve_top_k_entries(10)
    return [entry.content["observation"]["view"] for entry in best]


def _order_of_recall(make, decay):
    llm = StubLLM(answer=grades(lambda text: 3 if "oak" in text else 1))
    memory = make(citizen(), llm, recency_decay=decay)
    live(memory, seen("an oak"))
    memory.agent.model.steps = 300
    live(memory, seen("rain"))
    return _recalled(memory)


@each("EpisodicMemory")
def test_d35_the_decay_decides_how_long_a_memory_lasts(make):
    assert _order_of_recall(make, 0.9999) == ["an oak", "rain"]
    assert _order_of_recall(make, 0.99) == ["rain", "an oak"]


@each("EpisodicMemory")
def test_d35_one_step_of_age_weighs_less_than_a_grade(make):
    rated = {"grave": 5, "fresh": 4, "trifle": 3}

    def rate(text):
        return next(grade for name, grade in rated.items() if name in text)

    memory = make(citizen(), StubLLM(answer=grades(rate)))
    live(memory, seen("grave"))
    live(
        memory, ("observation", {"view": "fresh"}), ("observation", {"view": "trifle"})
    )
    assert _recalled(memory) == ["grave", "fresh", "trifle"]


@each("EpisodicMemory")
async def test_d36_hearing_something_does_not_block_the_event_loop(make):
    llm = StubLLM(answer=THREES)
    memory = make(citizen(), llm)
    for number in range(5):
        memory.add_to_memory(*said(f"news {number}"))
    assert not llm.answered, "it waited for the model"
