"""Compares the memories of a recorded model with its record, after each step."""

from mesa_memory import Services, open_run


def held(street):
    """The ids in each agent's memories, with one that it keeps as a diary."""
    return [
        sorted(
            record.id
            for memory in {agent.memory, getattr(agent, "diary", agent.memory)}
            for record in memory.current_records()
        )
        for agent in street.agents
    ]


def recorded(street, step):
    """The same ids, by the record of the run."""
    Services.of(street).recorder.sync()
    with open_run(street.file) as run:
        return [
            sorted(
                row["id"] for row in run.state(agent.unique_id, step, as_records=True)
            )
            for agent in street.agents
        ]


def agrees(street, days):
    """Steps for some days, and compares each; returns the ids of each step."""
    then = {}
    for _ in range(days):
        street.step()
        then[street.steps] = held(street)
        assert recorded(street, street.steps) == then[street.steps]
    for step, before in then.items():  # nothing later changes earlier steps
        assert recorded(street, step) == before
    return then
