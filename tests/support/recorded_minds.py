"""A story in which agents think something of each other, and write hostile texts."""

from tests.support.recorded import Story

#: what must never become markup
HOSTILE = "<img src=x onerror=alert(1)> [link](javascript:alert(1)) {{ 1 + 1 }}"
#: what agent 7 and agent "b" feel for each other in each impression, by its step
SENTIMENTS = {"7": {1: 0.5, 4: 0.0, 7: -0.75}, "b": {1: -0.2, 4: 0.8, 7: None}}


class Minds(Story):
    """A story whose impressions have sentiments, made from the message of their step.

    The first impression has a source that the run does not have, too. All messages of
    step 2 are hostile.
    """

    def __init__(self, store, steps=8, **info):
        super().__init__(store, steps=steps, edit=self._think, **info)

    def _think(self, step, batch):
        for row in batch.opened:
            if row["kind"] == "message" and step == 2:
                row["text"] = row["content"]["message"] = HOSTILE
            if row["kind"] != "impression":
                continue
            felt = SENTIMENTS[row["agent"]][step]
            row["sources"] = [f"{row['agent']}/stlt/message/{max(1, step - 2)}"]
            row["origin"] = "derived"
            if step == 1:
                row["sources"].append("gone/stlt/message/1")
            row["text"] = f"{row['text']} {HOSTILE}"
            row["content"] = {"text": row["text"], "familiarity": 0.1 * step}
            if felt is not None:
                row["content"]["sentiment"] = felt
