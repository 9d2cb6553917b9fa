"""Generated dialogues: what is shown of facts equals a plain model of the rules."""

import random
import re

from tests.layers.test_facts import World, stated

ME, SEEN = 1, None
TOPICS = [("Dana", "home"), ("Dana", "work"), ("the boat", "place")]
#: what is true at a time is one of these, said vaguely or exactly
VALUES = {
    name: (f"the {name}", f"the {name} beyond Ghent bridge")
    for name in ("mill", "inn", "tower", "castle")
}
NAMES = {text: name for name, forms in VALUES.items() for text in forms}


class Known:
    """Facts by the rules of the guide, on plain data: one value of one topic each."""

    def __init__(self):
        self.facts, self.clock = [], 0

    def on(self, topic):
        return [fact for fact in self.facts if fact["topic"] == topic]

    def claims(self, topic):
        return [fact for fact in self.on(topic) if fact["holds"]]

    def says(self, who, topic, value, changed=False):
        """Somebody, or the agent's own eyes, states a value."""
        self.clock += 1
        others = [fact for fact in self.claims(topic) if fact["value"] != value]
        alike = [fact for fact in others if NAMES[fact["value"]] == NAMES[value]]
        again = [fact for fact in self.claims(topic) if fact["value"] == value]
        # Nobody calls it a change: by rule or by the judge it is the same, or is not.
        same = [] if changed or again else alike[-1:]
        judged = bool(others) and not (changed or again or same or who is SEEN)
        apart = bool(same) and not self.makes_one(who, value, same[0])
        for fact in self.on(topic):
            if fact not in again + same and self.gives_way(fact, who, value, changed):
                self.facts.remove(fact)
            elif fact not in same + again and (
                fact in others or fact["value"] == value
            ):
                self.without(fact, who)
        if apart:
            self.without(same[0], who)
        merged = again or ([] if apart else same)
        if merged:
            (fact,) = merged
            fact["value"] = max(fact["value"], value, key=len)
            fact["who"] |= {who}
        else:
            self.add(topic, value, who, True, judged, changed)

    def denies(self, who, topic, value, cited=None, changed=False):
        """Somebody denies a value, of which ``cited`` is the known fact that ends."""
        self.clock += 1
        ended = []
        if cited is not None and not (SEEN in cited["who"] and who != ME):
            ended.append(cited)
        for fact in self.claims(topic):
            if fact["value"] == value and fact not in ended:
                if SEEN not in fact["who"] and (changed or fact["who"] <= {who}):
                    ended.append(fact)
                else:
                    self.without(fact, who)
        self.facts = [fact for fact in self.facts if fact not in ended]
        again = [
            f for f in self.on(topic) if (f["value"], f["holds"]) == (value, False)
        ]
        if again:
            again[0] |= {
                "who": again[0]["who"] | {who},
                "over": again[0]["over"] or changed,
            }
        if again and ended:
            self.facts.remove(again[0])  # all that it says is that they have ended
        elif not again and not ended:
            self.add(topic, value, who, False, False, changed)

    def add(self, topic, value, who, holds, judged, changed):
        given = {"holds": holds, "judged": judged, "over": changed, "since": self.clock}
        self.facts.append({"topic": topic, "value": value, "who": {who}} | given)

    @staticmethod
    def gives_way(fact, who, value, changed):
        """True if a statement that something is so ends a fact beside it."""
        if SEEN in fact["who"] and not (who is SEEN or (who == ME and changed)):
            return False
        return changed or who is SEEN or fact["who"] <= {who}

    @staticmethod
    def makes_one(who, value, fact):
        """True unless one of two that say the same says more than what was seen."""
        longer, shorter = ({who}, fact["who"])[
            :: 1 if len(value) > len(fact["value"]) else -1
        ]
        return bool(longer & {SEEN, ME}) or SEEN not in shorter

    def without(self, fact, who):
        """Who says something else does not stand for a fact any more."""
        if fact["who"] - {who}:
            fact["who"] = fact["who"] - {who}

    def shown(self):
        """By topic, the values with their speakers, and whether they disagree."""
        found = {}
        for topic in TOPICS:
            told = [
                (
                    fact["holds"],
                    fact["over"] and not fact["holds"],
                    fact["value"],
                    frozenset(fact["who"]),
                )
                for fact in self.on(topic)
            ]
            disagree = any(
                newer["judged"] and older["since"] < newer["since"]
                for newer in self.claims(topic)
                for older in self.claims(topic)
                if newer["value"] != older["value"]
            )
            if told:
                found[topic] = set(told), disagree
        return found


class Dialogue(World):
    """A memory and a plain model, which live through the same."""

    def __init__(self, seed):
        super().__init__()
        self.dice, self.model, self.step = random.Random(seed), Known(), 0

    def ruled(self, request):
        """The judge knows what is meant."""
        known, new = request.inputs["known"], request.inputs["new"]
        answers = []
        for number, one in enumerate(new, 1):
            like = [
                p
                for p in one["may_be"]
                if NAMES[known[p]["value"]] == NAMES[one["value"]]
            ]
            place = (like or one["may_be"])[-1]
            operation = "NONE" if like else "UPDATE"
            answers.append(
                {
                    "statement": number,
                    "operation": operation,
                    "fact": len(new) + place + 1,
                }
            )
        return {"decisions": answers}

    def lives(self):
        """One more step, in both."""
        self.step += 1
        topic, who = self.dice.choice(TOPICS), self.dice.choice([SEEN, ME, 2, 3, 2, 3])
        value = self.dice.choice(list(NAMES))
        claims = self.model.claims(topic)
        move = self.dice.choice(
            ["claim", "claim", "change", "dispute", "over", "lie", "again"]
        )
        if move == "again" and claims:
            value, move = (
                self.dice.choice(VALUES[NAMES[self.dice.choice(claims)["value"]]]),
                "claim",
            )
        if who is SEEN or move in ("claim", "again") or not claims:
            changed = move == "change" and who is not SEEN
            self.model.says(who, topic, value, changed)
            self.happens(who, topic, value, changed=changed)
        elif move == "change":
            self.model.says(who, topic, value, True)
            self.happens(who, topic, value, changed=True)
        else:
            cited = self.dice.choice(claims)
            value = cited["value"]
            if move == "dispute":
                self.model.denies(who, topic, value)
                self.happens(who, topic, value, holds=False)
                return
            words = self.dice.choice([value, f"word {self.step}"])
            old, changed = value, move == "over"
            self.happens(who, topic, words, old, holds=False, changed=changed)
            self.model.denies(who, topic, words, cited, changed)

    def happens(self, who, topic, value, cites=None, **flags):
        subject, attribute = topic
        text = f"{subject} {attribute}: {value}"
        if who is SEEN:
            self.sees(self.step, text)
        else:
            self.hears(self.step, (who, text))

        def reply(request):
            known = request.inputs["known"]
            sources = [1] + [
                place + 2
                for place, fact in enumerate(known)
                if fact["holds"]
                and (fact["subject"], fact["attribute"], fact["value"])
                == (*topic, cites)
            ]
            return {"facts": [stated(value, attribute, subject, sources, **flags)]}

        self.thinks(reply)

    def shown(self):
        """What the memory shows, in the words of the plain model."""
        found = {}
        for line in self.facts.summary(self.view):
            subject, attribute, rest = line.text.split(": ", 2)
            told, disagree = found.setdefault((subject, attribute), (set(), []))
            disagree.append(line.text.endswith("they disagree"))
            for part in re.split(
                r" — (?:but: )?", rest.removesuffix(" — they disagree")
            ):
                value, said = re.fullmatch(
                    r"(?:.* \(step \d+\), then )?(.*) \((.*)\)", part
                ).groups()
                word, _, bare = value.rpartition(": ")
                who = {int(number) for number in re.findall(r"Agent (\d)", said)}
                who |= {SEEN} if "seen" in said else set()
                who |= {ME} if "by you" in said else set()
                told.add((not word, word == "no longer", bare, frozenset(who)))
        return {
            topic: (told, any(disagree)) for topic, (told, disagree) in found.items()
        }


def test_what_is_shown_of_two_hundred_dialogues_equals_a_plain_model_of_the_rules(
    monkeypatch,
):
    monkeypatch.setattr("mesa_memory.layers.facts.shown.MAX_VALUES", 99)
    for seed in range(200):
        dialogue = Dialogue(seed)
        for _ in range(12):
            dialogue.lives()
            assert dialogue.shown() == dialogue.model.shown(), (seed, dialogue.step)
