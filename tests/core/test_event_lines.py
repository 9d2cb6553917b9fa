"""The line of an event, which is made once for each voice and kept with its record."""

from dataclasses import replace

import pytest

from mesa_memory.core.content import by_id
from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.render import told
from mesa_memory.core.wording import Voice, Wording

HEARD = {"message": "The mill is closed", "sender": 2, "recipients": [1]}
SEEN = {"self_state": {}, "local_state": {"Agent 2": "met"}}


def event(kind, content):
    return MemoryRecord("1/memory/event/1", 1, "memory", kind, 3, content)


def voice(names, **given):
    """A new view of the same names: agent 1 remembers."""
    return Voice(lambda who: names.get(who, by_id(who)), owner=1, **given)


@pytest.mark.parametrize("to_owner", [True, False])
@pytest.mark.parametrize(
    ("kind", "content"), [("message", HEARD), ("observation", SEEN)]
)
def test_a_kept_line_is_the_same_until_somebody_has_another_name(
    kind, content, to_owner
):
    names, one = {2: "Ada"}, event(kind, content)
    first = told(one, 100, voice(names, to_owner=to_owner))
    assert told(one, 100, voice(names, to_owner=to_owner)) is first
    names[2] = "Eve"
    assert told(one, 100, voice(names, to_owner=to_owner)).line == first.line.replace(
        "Ada", "Eve"
    )


def test_a_line_follows_content_limit_language_and_owner():
    one, own = event("message", HEARD), voice({}, to_owner=True)
    lines = {told(one, 100, own).line}
    one.content = HEARD | {"recipients": [1, 3]}
    lines.add(told(one, 100, own).line)
    lines.add(told(one, 5, own).line)
    lines.add(told(one, 100, replace(own, wording=Wording("de"))).line)
    lines.add(told(one, 100, replace(own, owner=3)).line)
    assert len(lines) == 5
