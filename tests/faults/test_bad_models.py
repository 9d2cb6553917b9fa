"""A user's own model that answers nonsense makes no memory forget."""

from mesa_memory import configure
from mesa_memory.llm import Reply
from tests.support.fleet import ASKING, EXECUTIONS, MEMORIES
from tests.support.network import elsewhere  # noqa: F401 - guards every test here
from tests.support.story import live, town_of


class Own:
    """A user's model that gives whatever it is told to."""

    def __init__(self, answer):
        self.answer = answer

    def complete(self, request):
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def test_a_broken_own_model_makes_no_memory_forget():
    third = [
        None,
        "text",
        7,
        Reply(7),
        KeyError("bug"),
        RuntimeError("bug"),
        OSError("bug"),
    ]
    for memory in MEMORIES:
        for execution in EXECUTIONS:
            for answer in third:
                town = town_of(memory, None, llm=Own(answer), execution=execution)
                raised = 0
                for _ in range(5):
                    try:
                        live(town, 1)
                    except Exception:
                        raised += 1
                assert (raised > 0) == (memory in ASKING)
                configure(town, llm="offline", execution=execution)
                town.check_nothing_lost()
                live(town, 1)
                assert town.due(town.citizens[0]) == 0
                town.check_nothing_lost()
