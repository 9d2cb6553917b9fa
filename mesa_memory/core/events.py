"""Events as plain sentences, and the agents that they are about.

Mesa-LLM's own reasoning leaves observations, plans, their outcomes and actions as Python:
dictionaries, and the text of its objects. An unexpected form is shown as it is.
"""

import json
import re
from ast import literal_eval
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from mesa_memory.core.content import (
    MAPPINGS,
    by_id,
    id_of,
    is_id,
    kind_text,
    one_line,
    pairs,
    plain,
    rest_of,
    shorten,
    value_text,
)
from mesa_memory.core.text.thinking import MARKED, decision
from mesa_memory.core.wording import PLAIN, Voice

_SELF, _NEAR = "self_state", "local_state"
#: the kinds of events that name agents
_ABOUT_AGENTS = ("message", "observation")
_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
#: a tool call in the text of a reply of litellm
_CALL = re.compile(rf"Function\(arguments=({_QUOTED}), name=({_QUOTED})")
#: the answer of Mesa-LLM's tools that send a message
_SENT = re.compile(rf"sent message ({_QUOTED}) to (\[[^\]]*\])")
_NUMPY = re.compile(r"\bnp\.\w+\(([^()]*)\)")
#: the kind of what a plan became
BECAME = "plan_execution"
#: kinds whose repetitions say nothing new, and may be shown as a number
ROUTINE_KINDS = ("observation", "plan", BECAME, "action")
#: left out of a state's text, and of another event's
_SAID = frozenset({"internal_state", "importance"})
_OWN_SAID, _NEAR_SAID = _SAID | {"location", "agent_unique_id"}, _SAID | {"position"}
_SIGHT_SAID = frozenset({_SELF, _NEAR, "importance"})
_MESSAGE_SAID = frozenset({"recipients", "importance", "sender"})
_DONE_SAID = frozenset({"name", "arguments", "rationale", "importance"})
_CHOSEN = frozenset({"action", "result"})
_CALL_SAID = frozenset({"name", "response"})
_CALLS_SAID = frozenset({"tool_calls", "importance"})
#: names that say nothing of the text they stand for
_TEXTS = ("text", "message", "content", "description")
#: ends of a sentence, and what may stand behind them
_FULL_STOPS, _QUOTES = (*".!?…。！？",), "\"')]»”’」"


def plain_event(kind: Any, content: Any, names: Any) -> tuple[str, Any]:
    """Kind and content of an event as plain data, without a model's thinking.

    Args:
        names: of the model's agents; a message names people by id.
    """
    kind = kind_text(kind)
    if not isinstance(content, Mapping):  # a program may set ``step_content``
        content = {"text": content}
    if kind == "message":
        content = names.with_ids(content)
    own, kept = kind in ROUTINE_KINDS, plain(content)
    for key, text in kept.items():
        if isinstance(text, str) and MARKED.search(text):
            kept[key] = decision(text, own)
    return kind, kept


def message_text(content: Any, voice: Voice = PLAIN) -> str:
    """A message's content, such as ``Ada to Bob: …``; a bare text as it is."""
    return (
        _message(content, voice)
        if isinstance(content, MAPPINGS)
        else value_text(content)
    )


def event_text(kind: str, content: Any, limit: int, voice: Voice = PLAIN) -> str:
    """One event on one line, at most about ``limit`` characters."""
    line: str | None = None
    if kind == "message":
        line = message_text(content, voice)
    elif isinstance(content, MAPPINGS):
        line = _sentence(kind, content, voice)
    if line is None:
        line = _other(kind, content, voice)
    if len(line) <= limit:
        return line
    if is_state(kind, content):
        line = _state(content, voice, brief=True) or line
    return shorten(line, limit)


def is_state(kind: str, content: Any) -> bool:
    """True for Mesa-LLM's observations: the state of all things in sight."""
    return (
        kind == "observation" and isinstance(content, MAPPINGS) and _is_sight(content)
    )


def _is_sight(content: Mapping) -> bool:
    return isinstance(content.get(_SELF), MAPPINGS) or isinstance(
        content.get(_NEAR), MAPPINGS
    )


def is_dump(kind: str, content: Any) -> bool:
    """True for a state, and for a plan's reply as Python: nothing to recall it for."""
    return is_state(kind, content) or is_call(kind, content)


def is_call(kind: str, content: Any) -> bool:
    """True for the content of a plan that is litellm's reply as Python text."""
    if kind != BECAME or not isinstance(content, MAPPINGS):
        return False
    text = content.get("content")
    return isinstance(text, str) and text.startswith("Message(")


def sight(content: Mapping, voice: Voice = PLAIN) -> str:
    """Of an observation, who is in sight; how and where they are left out."""
    near = content.get(_NEAR)
    if not isinstance(near, MAPPINGS) or not near:
        return voice.wording.say("sight of nobody")
    seen = ", ".join(_known(key, voice) for key in near)
    return voice.wording.say("sight", seen=seen, brief=False)


def merged(events: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The events of a step, (kind, content), without repetitions.

    An action says what came of the calls that a plan became; those give it what it
    lacks: with which arguments.
    """
    told: list[tuple[str, Any] | None] = []
    calls: deque[tuple[int, str]] = deque()  # where they stand, oldest first
    chosen: list | None = None  # by the oldest, once an action asks
    for kind, what in events:
        content = what
        if is_call(kind, what):
            calls.append((len(told), what["content"]))
        elif kind == "action" and calls:
            place, text = calls[0]
            chosen = _chosen(text) if chosen is None else chosen
            action = _with_arguments(content, chosen)
            if action is not None:
                told[place], chosen, content = None, None, action
                calls.popleft()
        told.append((kind, content))
    return [event for event in told if event is not None]


def _with_arguments(content: Any, chosen: list[tuple[str, Any]]) -> dict | None:
    """An action with the arguments of its calls; None if they are of another plan."""
    calls = content.get("tool_calls") if isinstance(content, MAPPINGS) else None
    if not isinstance(calls, list) or not all(
        isinstance(call, MAPPINGS) for call in calls
    ):
        return None
    if [call.get("name") for call in calls] != [name for name, _ in chosen]:
        return None
    if not all(isinstance(arguments, MAPPINGS) for _, arguments in chosen):
        return None
    full = []
    for call, (_, arguments) in zip(calls, chosen, strict=True):
        answer = value_text(call.get("response", ""))
        news = {
            key: value
            for key, value in arguments.items()
            if key not in call and value_text(value) not in answer
        }
        full.append({**call, **news})
    return {**content, "tool_calls": full}


def spoken_text(content: Mapping) -> str:
    """The words of a message, without speaker and listeners."""
    text = content.get("message")
    return _own_text(content, "message") if text is None else value_text(text)


def _message(content: Mapping, voice: Voice) -> str:
    sender, said = content.get("sender"), spoken_text(content)
    if sender is None:
        return said
    return voice.message(sender, _several(content.get("recipients") or ()), said)


def _other(kind: str, content: Any, voice: Voice) -> str:
    """An event of another form: a sentence as it is, all else behind its kind."""
    if not isinstance(content, MAPPINGS):
        said, bare = value_text(content), isinstance(content, str)
    elif content.get("sender") is None:
        said = _own_text(content, str(kind))
        bare = content.keys() - _MESSAGE_SAID == {"text"}
    else:
        said, bare = _message(content, voice), False
    if bare and _is_sentence(said):
        return said
    return voice.wording.say("other", kind=one_line(str(kind)), text=said)


def _is_sentence(text: str) -> bool:
    """True for a text that needs no heading, and does not look as if it had one."""
    if ":" in text or "：" in text:  # it may be made to look like another's words
        return False
    ended = text.rstrip(_QUOTES).endswith(_FULL_STOPS)
    return ended or len(text.split(None, 3)) > 3


def _own_text(content: Mapping, kind: str) -> str:
    """The text of a content, with the rest behind it; of another one keys and values.

    Args:
        kind: of the event; what has this name needs no other one.
    """
    keys = content.keys() - _MESSAGE_SAID
    own = next((key for key in (kind, *_TEXTS) if key in keys), None)
    if own is None or not (isinstance(content[own], str) or len(keys) == 1):
        return pairs(content, _MESSAGE_SAID)
    text, rest = value_text(content[own]), rest_of(content, _MESSAGE_SAID | {own})
    return f"{text} ({rest})" if rest else text


def _several(value: Any) -> Sequence[Any]:
    """A list as it is; anything else as the only item of one."""
    return value if isinstance(value, list | tuple) else [value]


def _sentence(kind: str, content: Mapping, voice: Voice) -> str | None:
    """A sentence for an event of a known form; None for all else."""
    if kind == "observation" and _is_sight(content):
        return _state(content, voice)
    if kind == "action":
        if "result" in content and content.keys() - {"importance"} == _CHOSEN:
            return _done(content["action"], content["result"], voice)
        return _calls(kind, content, voice)
    if kind == "plan":
        return _plan(content, voice)
    if kind == BECAME:
        return _execution(content, voice)
    if kind == "reflection" and {"text", "depth"} <= content.keys():
        doubtful = bool(content.get("doubtful"))
        text = value_text(content["text"])
        return voice.wording.say("reflection", text=text, doubtful=doubtful)
    if kind == "conversation" and {"text", "with", "turns"} <= content.keys():
        who = voice.listed(_several(content["with"]))
        return voice.wording.say(
            "conversation", who=who, text=value_text(content["text"])
        )
    return _calls(kind, content, voice)


def _done(action: Any, result: Any, voice: Voice) -> str | None:
    """An action of the agent and its result; None for another form."""
    if not isinstance(action, MAPPINGS) or not isinstance(action.get("name"), str):
        return None
    answer = "" if result is None else _NUMPY.sub(r"\1", value_text(result))
    given = action.get("arguments")
    if isinstance(given, MAPPINGS):  # what came of it may say them, too
        given = {k: v for k, v in given.items() if value_text(v) not in answer}
    reason = action.get("rationale")
    return voice.wording.say(
        "done",
        name=value_text(action["name"]),
        given=_given(given) if given else "",
        answer=answer,
        rest=rest_of(action, _DONE_SAID),
        reason=_flat(reason) if reason else "",
    )


def _state(content: Mapping, voice: Voice, brief: bool = False) -> str:
    """An observation; if ``brief``, of the others only who and where they were."""
    own, near = content.get(_SELF), content.get(_NEAR)
    where = how = ""
    here, elsewhere, said = list[str](), list[str](), list[str]()
    if isinstance(own, MAPPINGS):
        where, how = _condition(own, "location", _OWN_SAID)
    elif own is not None:
        said.append(f"{value_text(own)}.")
    if isinstance(near, MAPPINGS):
        here, elsewhere = _company(near, where, brief, voice)
    if where:
        company = ", ".join(here)
        told = {"where": where, "how": how, "company": company}
        said.append(voice.wording.say("place", **told, brief=brief and bool(here)))
    elif how:
        said.append(voice.wording.say("own state", how=how))
    if elsewhere:
        said.append(voice.wording.say("sight", seen=", ".join(elsewhere), brief=brief))
    elif isinstance(near, MAPPINGS) and not here:
        said.append(voice.wording.say("sight of nobody"))
    elif near is not None and not isinstance(near, MAPPINGS):
        said.append(voice.wording.say("sight", seen=value_text(near), brief=False))
    if rest := rest_of(content, _SIGHT_SAID):
        said.append(f"{rest}.")
    return " ".join(said)


def _company(
    near: Mapping, place: str, brief: bool, voice: Voice
) -> tuple[list[str], list[str]]:
    """Those in sight at the agent's own place, and the others with theirs."""
    here, elsewhere = list[str](), list[str]()
    for key, state in near.items():
        if isinstance(state, MAPPINGS):
            where, how = _condition(state, "position", _NEAR_SAID)
        else:
            where, how = "", value_text(state)
        together = bool(place) and where == place
        told = {"where": "" if together else where, "how": "" if brief else how}
        seen = voice.wording.say("seen", who=_known(key, voice), **told)
        (here if together else elsewhere).append(seen)
    return here, elsewhere


def _condition(state: Mapping, place: str, said: frozenset[str]) -> tuple[str, str]:
    """The position and condition in a state; empty without one.

    Args:
        said: the keys that are not part of the rest.
    """
    where = state.get(place)
    inner = state.get("internal_state")
    how = pairs(state, said)
    if inner is not None:
        items = [item for item in _several(inner) if item is not None]
        texts = dict.fromkeys(map(value_text, items))
        how = ", ".join([text for text in (*texts, how) if text])
    return "" if where is None else value_text(where), how


def _known(key: Any, voice: Voice) -> str:
    """An agent by its key in an observation, behind its name if it has one.

    For the agent itself the key stays behind a name: it has the id that tools such as
    Mesa-LLM's ``speak_to`` ask for.
    """
    text, unique_id = value_text(key), id_of(key)
    named, plain = voice(unique_id), by_id(unique_id)
    if named == plain:
        return text
    if voice.owner is not None and not voice.to_owner:
        return named
    return f"{named.removesuffix(f' ({plain})')} ({text})"


def _flat(text: Any) -> str:
    """Own words on one line: their line breaks are not news."""
    flat = " ".join(text.split()) if isinstance(text, str) else text
    return value_text(flat)


def _plan(content: Mapping, voice: Voice) -> str | None:
    keys = content.keys() - {"importance"}
    if keys == {"content"}:
        return voice.wording.say("planned", text=_flat(content["content"]), action="")
    if keys == {"reasoning", "action"}:
        reasons, action = _flat(content["reasoning"]), _flat(content["action"])
        return voice.wording.say("planned", text=reasons, action=action)
    return None


def _execution(content: Mapping, voice: Voice) -> str | None:
    if content.keys() - {"importance"} != {"content"}:
        return None
    text = content["content"]
    if not isinstance(text, str) or not text.startswith("Message("):
        return voice.wording.say("carried out", text=_flat(text))
    if calls := _chosen(text):
        said = [
            one_line(name) + (f" ({_given(given)})" if given else "")
            for name, given in calls
        ]
        return voice.wording.say("chose", calls="; ".join(said))
    return None if "tool_calls=[" in text else voice.wording.say("chose nothing")


def _chosen(text: str) -> list[tuple[str, Any]]:
    """Name and arguments of each tool call in the text of a reply of litellm."""
    found = []
    for arguments, name in _CALL.findall(text):
        try:
            given = json.loads(literal_eval(arguments))
        except (ValueError, SyntaxError):
            given = arguments
        found.append((name[1:-1], given))
    return found


def _given(arguments: Any) -> str:
    return (
        pairs(arguments) if isinstance(arguments, MAPPINGS) else value_text(arguments)
    )


def _calls(kind: str, content: Mapping, voice: Voice) -> str | None:
    """Mesa-LLM's ``{"tool_calls": [{"name", "response"}]}``; None for all else."""
    calls = content.get("tool_calls")
    if not isinstance(calls, list):
        return None
    for call in calls:
        if not isinstance(call, MAPPINGS) or "name" not in call:
            return None
    told = {
        "calls": "; ".join([_used(call) for call in calls]),
        "rest": rest_of(content, _CALLS_SAID),
    }
    if kind == "action":
        return voice.wording.say("used", **told)
    return voice.wording.say("used in", kind=one_line(str(kind)), **told)


def _used(call: Mapping) -> str:
    given = rest_of(call, _CALL_SAID)
    given = f" ({given})" if given else ""
    answer = value_text(call.get("response", ""))
    if "np." in answer:
        answer = _NUMPY.sub(r"\1", answer)
    return f"{value_text(call['name'])}{given}{': ' if answer else ''}{answer}"


# -- the agents that an event is about --------------------------------------------------


def subjects(kind: str, content: Any) -> list[Any]:
    """Unique ids of the agents that an event speaks of.

    Messages name sender and recipients; observations have the agents seen as keys of
    ``local_state``, ``"ClassName 7"``.
    """
    if kind not in _ABOUT_AGENTS or not isinstance(content, MAPPINGS):
        return []
    if kind == "message":
        named, sender = recipients_of(content), content.get("sender")
        return [sender, *named] if is_id(sender) else named
    seen = content.get(_NEAR)
    return [id_of(key) for key in seen] if isinstance(seen, MAPPINGS) else []


def recipients_of(message: Mapping) -> list[Any]:
    """The unique ids among those to whom a message went."""
    return [i for i in _several(message.get("recipients") or ()) if is_id(i)]


def deliveries(action: Any) -> list[tuple[str, list[Any]]]:
    """Texts and recipients of the messages that an action says it has sent, in order.

    ``speak_to`` and the like leave no message of their own in their agent's memory.
    """
    if not isinstance(action, MAPPINGS):
        return []
    calls = action.get("tool_calls")
    done = calls if isinstance(calls, list) else ()
    answers = [c.get("response") for c in done if isinstance(c, MAPPINGS)]
    found = []
    for answer in (*answers, action.get("result")):
        if isinstance(answer, str) and (sent := _SENT.match(answer)):
            with suppress(ValueError, SyntaxError):  # it only looks like one
                text, named = sent.groups()
                found.append(
                    (literal_eval(text), literal_eval(_NUMPY.sub(r"\1", named)))
                )
    return found


def counterpart(kind: str, content: Any, me: Any) -> Any:
    """The one other agent that a message or an observation is about; None if several.

    Of a message heard it is the sender, of one sent the only recipient.

    Args:
        me: unique id of the agent that remembers the event.
    """
    if kind not in _ABOUT_AGENTS or not isinstance(content, MAPPINGS):
        return None
    if kind == "message":
        sender = content.get("sender")
        if sender != me and is_id(sender):  # as of most messages
            return sender
        others = set(recipients_of(content))
    else:
        seen = content.get(_NEAR)
        if not isinstance(seen, MAPPINGS) or len(seen) > 2:
            return None  # nobody, or a crowd, which would take long to look through
        others = set(map(id_of, seen))
    others.discard(me)
    return others.pop() if len(others) == 1 else None


def evidence(kind: str, content: Any, subject: Any) -> Any:
    """The part of an observation about one agent; any other event unchanged."""
    if not is_state(kind, content):
        return content
    near = content.get(_NEAR)
    if not isinstance(near, MAPPINGS):
        return {}
    return {_NEAR: {key: near[key] for key in near if id_of(key) == subject}}
