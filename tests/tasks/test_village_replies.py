"""What a strong model replied to the requests of a village of four is used as it is.

``village_replies.jsonl`` has each reply with what its check needs of the request; those
to requests for summaries are in ``tests/memories/test_summaries.py``.
"""

import json
from collections import Counter

from mesa_memory.core.requests import Reply
from mesa_memory.core.text.replies import read
from mesa_memory.tasks.extract import EXTRACT
from mesa_memory.tasks.grade import GRADE
from mesa_memory.tasks.impress import IMPRESS
from mesa_memory.tasks.judge import JUDGE
from mesa_memory.tasks.reflect import REFLECT
from tests.support.single import DATA

TASKS = {task.purpose: task for task in (EXTRACT, GRADE, IMPRESS, JUDGE, REFLECT)}


def test_each_reply_of_a_strong_model_is_used_at_once_and_whole():
    used = Counter()
    for line in (DATA / "village_replies.jsonl").read_text().splitlines():
        row = json.loads(line)
        task = TASKS[row["purpose"]]
        inputs = {"questions": [], "held": [], "top": 5, **row["inputs"]}
        found = read(Reply(row["reply"]), task.schema(inputs), task.max_chars)
        checked = task.check(found, inputs)
        used[task.purpose] += 1
        if task is GRADE:
            assert sorted(checked) == [*range(len(inputs["events"]))]
        elif task is EXTRACT:
            assert all(fact.sources for fact in checked.candidates)
        elif task is REFLECT:
            assert all(each.evidence for each in checked[0])
        elif "others" in inputs:
            assert sorted(checked.impressions) == [*range(len(inputs["others"]))]
    assert used == {
        "extract": 99,
        "grade": 81,
        "impression": 33,
        "reflect": 24,
        "judge": 3,
    }
