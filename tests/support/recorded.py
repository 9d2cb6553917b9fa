"""A recorded run whose every answer is known, made through the store's own methods."""

from collections import defaultdict

from mesa_memory.stores import Batch, RunInfo

#: what must never become markup
HOSTILE = "<img src=x onerror=alert(1)> [link](javascript:alert(1)) {{ 1 + 1 }}"
#: what agent 7 and agent "b" feel for each other in each impression, by its step
SENTIMENTS = {"7": {1: 0.5, 4: 0.0, 7: -0.75}, "b": {1: -0.2, 4: 0.8, 7: None}}


SUBJECT = {"7": "b", "b": 7}


class Story:
    """Two agents, 7 and "b", hear, sum up and judge for some steps.

    Each step an agent hears a message and sees something. From the second step on, what
    it heard two steps ago is taken up in its summary, which takes the last one's place.
    It has an impression of the other agent, renewed in every third step; in the steps
    between it is not touched. A fact of step 1 is deleted in step 3.

    Args:
        store: open for writing.
        steps: how many.
        edit: called with each batch before it is written; may change it.

    Attributes:
        run: its id in the store.
        current: by (agent, step), the ids of the records current at the step's end.
    """

    def __init__(self, store, steps=6, edit=None, state="finished", **info):
        self.current = {}
        self._live = defaultdict(list)
        given = {"model": "Town", "parameters": {"n": 2}, "seed": "1"} | info
        self.run = store.begin(RunInfo(**given))
        for step in range(1, steps + 1):
            batch = self._batch(step)
            if edit:
                edit(step, batch)
            store.write(self.run, batch)
        store.end(self.run, state)

    def _batch(self, step):
        batch = Batch(step)
        for agent in ("7", "b"):
            self._remember(batch, step, agent)
            self._ask(batch, step, agent)
            self.current[agent, step] = list(self._live[agent])
        batch.agents = [
            {"agent": str(own), "unique_id": own, "class": "Citizen",
             "memory": "LayeredMemory", "layers": ["stlt", "facts"]}
            for own in (7, "b")
        ]  # fmt: skip
        return batch

    def _remember(self, batch, step, agent):
        heard = f"The mill of ward {step} is on fire"
        self._open(batch, agent, "stlt", "message", step, text=heard,
                   content={"message": heard, "sender": SUBJECT[agent]},
                   importance=3.0)  # fmt: skip
        self._open(
            batch, agent, "stlt", "observation", step, text=f"I see field {step}"
        )
        if step == 1:
            self._open(batch, agent, "facts", "fact", 1, text="The well is poisoned")
        if step == 3:
            self._close(batch, agent, f"{agent}/facts/fact/1", step, "deleted", None)
        if step % 3 == 1:
            number = 1 + step // 3
            new = self._open(batch, agent, "stlt", "impression", step, number,
                             text=f"Honest, in step {step}", subject=SUBJECT[agent])  # fmt: skip
            if number > 1:
                old = f"{agent}/stlt/impression/{number - 1}"
                self._close(batch, agent, old, step, "superseded", new)
        if step > 1:
            self._sum_up(batch, step, agent)

    def _sum_up(self, batch, step, agent):
        events = [
            f"{agent}/stlt/{kind}/{step - 1}" for kind in ("message", "observation")
        ]
        before = [f"{agent}/stlt/summary/{step - 2}"] if step > 2 else []
        new = self._open(batch, agent, "stlt", "summary", step, step - 1,
                         text=f"All until step {step - 1}", sources=before + events,
                         origin="derived")  # fmt: skip
        for name in events:
            self._close(batch, agent, name, step, "consolidated", None)
        for name in before:
            self._close(batch, agent, name, step, "superseded", new)

    def _open(self, batch, agent, layer, kind, step, number=None, **fields):
        name = f"{agent}/{layer}/{kind}/{number or step}"
        row = {"id": name, "agent": agent, "layer": layer, "kind": kind, "step": step,
               "content": {"text": fields["text"]}, "sources": [], "origin": "event",
               "valid_from": step}  # fmt: skip
        batch.opened.append(row | fields)
        self._live[agent].append(name)
        return name

    def _close(self, batch, agent, name, step, reason, by):
        batch.closed.append((name, step, reason, by))
        self._live[agent].remove(name)

    def _ask(self, batch, step, agent):
        at = {"step": step, "agent": agent}
        parts = {"relevance": 0.9, "dense": 0.5, "lexical": 2.5, "importance": 0.5,
                 "recency": 1.0}  # fmt: skip
        names = [f"{agent}/stlt/message/{step}", f"{agent}/stlt/observation/{step}"]
        candidates = [
            {"id": n, "rank": rank, "score": 1.0 / rank, "shown": rank == 1, **parts}
            for rank, n in enumerate(names, 1)
        ]
        batch.recalls.append(at | {"layer": "stlt", "purpose": "read", "query": "fire?",
                                   "scoring": {}, "candidates": candidates})  # fmt: skip
        for section in ("short", "long"):
            text = f"{section} memory of {agent} in step {step}:\n- fire"
            shown = {"layer": "stlt", "section": section, "text": text}
            batch.prompts.append(at | shown)
        for purpose, cost in (("consolidate", 0.25), ("reasoning", None)):
            batch.calls.append(at | {
                "purpose": purpose, "occurrence": 1, "model": "m", "reply": "yes",
                "prompt": [{"role": "user", "content": f"{purpose} {step}"}],
                "prompt_hash": f"{purpose}-{step}", "tokens_in": 10, "tokens_out": 2,
                "cost": cost, "latency": 0.5, "attempts": 1, "replayed": False,
                "finish": "stop",
            })  # fmt: skip


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
