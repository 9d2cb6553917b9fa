"""Sets the services of a model run."""

import difflib
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

from mesa_memory.core.text import redaction
from mesa_memory.core.validate import check_model, checked_int, one_of
from mesa_memory.core.wording import checked_step_name
from mesa_memory.embedders import embedder as embedder_of
from mesa_memory.embedders.vectors import Vectors
from mesa_memory.llm.base import LLM, AsyncLLM, LLMSettings
from mesa_memory.llm.cache import Occurrences
from mesa_memory.llm.doubles.offline import OfflineLLM
from mesa_memory.llm.doubles.policy import PROVIDER
from mesa_memory.llm.ledger import Budget
from mesa_memory.memories.replacement import made_with
from mesa_memory.runs.recording.config import ON_FAILURE, Recording
from mesa_memory.runtime import reasoning  # noqa: F401, stands between agents and LLMs
from mesa_memory.runtime.flows import execution_of
from mesa_memory.runtime.services import Services
from mesa_memory.tasks.base import registered


class Unchanged:
    """Stands for an argument that was not given: the setting stays as it is."""

    def __repr__(self) -> str:
        return "unchanged"


UNCHANGED: Any = Unchanged()
#: in ``models``: all purposes that it does not name
DEFAULT = "default"


def configure(
    model: Any,
    *,
    agents: bool = UNCHANGED,
    llm: LLM | AsyncLLM | str | None = UNCHANGED,
    models: Mapping[str, str] = UNCHANGED,
    offline: str | None = UNCHANGED,
    execution: str | None = UNCHANGED,
    budget: Budget | None = UNCHANGED,
    max_pending_steps: int = UNCHANGED,
    on_failure: str = UNCHANGED,
    embedder: Any = UNCHANGED,
    record: Any = UNCHANGED,
    replay: Any = UNCHANGED,
    cache: Any = UNCHANGED,
    replicate: int = UNCHANGED,
    outcomes: Sequence[str] = UNCHANGED,
    language: str = UNCHANGED,
    languages: Callable[[Any], str | None] | None = UNCHANGED,
    prompts: str | os.PathLike[str] | None = UNCHANGED,
    step_name: str | None = UNCHANGED,
    **settings: Any,
) -> Services:
    """Sets the services of ``model``; call it before the agents are created.

    A further call changes only the settings that it names: ``configure(model,
    budget=…)`` leaves the language model, the record and every limit as they are.
    ``with configure(model, record=…):`` ends the recorded run after the block.

    Args:
        model: the Mesa model.
        agents: True (at first) sends what agents ask through ``agent.llm`` the same way
            as the requests of memories: counted, capped, retried, recorded and
            replayed. They are asked in the same words, of the model that each agent
            names. False leaves the agents alone.
        llm: ``"offline"``, a model name for all memories (``"provider/model"``), or
            an object with ``complete`` or ``acomplete``. None (at first) asks each
            agent's model.
        models: other models by purpose, such as ``{"grade": "openai/gpt-4.1-nano",
            "default": "openai/gpt-5"}``; ``"default"`` is that of all other requests of
            memories. A model of the same provider is asked at the same address. At first
            none.
        offline: ``"all"``, together with ``llm="offline"``: the rules also answer
            memories whose ``llm`` object was replaced. None (at first) asks that object.
        execution: ``"deferred"`` (at first: work goes on in the background and is
            joined before the agent's next step or the next read) or ``"blocking"``.
            None takes the environment variable ``MESA_MEMORY_EXECUTION``.
        budget: calls, tokens and money that must not be crossed; None (at first) means
            without limit.
        max_pending_steps: stop after this number of steps in a row without an answer;
            at first 10. Answers that cannot be used stop nothing, unless
            ``on_failure="raise"``; an event that lacks a grade after this number of
            steps stays without one.
        on_failure: ``"raise"`` stops at the first failure instead; at first
            ``"continue"``, which tries the work again at the next step.
        embedder: ``"static"`` (at first; shipped, offline),
            ``"minilm"``, ``"multilingual"``, ``"fastembed:NAME"``,
            ``"litellm:PROVIDER/MODEL"``, or an embedder.
        record: path of a SQLite file, ``"postgresql+psycopg://…"``, True (in memory)
            or a ``Recording``. It ends the run that is being recorded, if there is
            one, and begins another. None or False (at first) ends it and records
            nothing.
        replay: a recorded run, a path or address like ``record``, that answers every
            request in place of a model, and of an embedder. None (at first) asks them
            again. A missing answer is a ``ReplayMismatch``.
        cache: path of a file of cached answers: the same request, with the same
            settings and ``replicate``, is answered once, in all runs and processes that
            share it. None (at first) caches nothing.
        replicate: a whole number. Each one has cached answers of its own. At first 0.
        outcomes: attributes of the agents that are recorded at the end of each step,
            such as ``("belief",)``: each a text, a number, True, False or None. The
            dashboard's Story colours the agents by them. At first none.
        language: of all texts that models and agents are told: ``"en"`` (at first),
            ``"de"``, ``"es"``, ``"fr"``, ``"ja"``, ``"pt"``, ``"zh"``, or ``"auto"``,
            which detects that of each agent's prompts (``pip install
            mesa-memory[languages]``).
        languages: a function of an agent that gives its language, or None for
            ``language``. None (at first) is that of all.
        prompts: a folder with prompt files ``<task>.md`` in place of the package's own;
            None (at first) takes those. ``mesa-memory prompts`` shows them.
        step_name: what a step is, such as ``"one day"``, in the language of the agents;
            models and agents are told "A step is one day.", and so are the readers of
            the methods and of the pages. None (at first) says nothing.
        **settings: fields of ``LLMSettings``, such as ``timeout`` and ``concurrency``.

    Raises:
        ValueError, TypeError: for a wrong argument; nothing is changed.
        StoreError: if the store cannot be used.
        PromptFileError: for an unknown language, or a prompt file that does not fit;
            nothing is changed.
        CacheError: if the file of answers cannot be used; nothing is changed.
    """
    given = {n: value for n, value in locals().items() if value is not UNCHANGED}
    check_model(model)
    # All arguments are checked before any of them takes effect.
    chosen = {n: check(given[n]) for n, check in _CHECKS.items() if n in given}
    chosen |= _answering(given) | _by_purpose(given)
    _check_settings(settings)
    recording = _recording(given.get("record"))
    services = Services.of(model)
    sending = replace(services.settings, **settings)
    chosen |= _told(services, given) | _replay(model, services, given)
    if services.agents is None:
        chosen.setdefault("agents", True)
    if "record" in given:
        chosen |= _begun(model, services, recording)
    if "budget" in chosen:
        services.ledger.budget = chosen.pop("budget")
    vars(services).update(chosen)
    if settings:
        services.update_settings(sending)
    services.clear_faults()  # failures under the former settings
    return services


def equip(
    model: Any, memory: Any, services: Mapping[str, Any], seed: Any = None
) -> None:
    """Gives a new model what a study has for it that its ``__init__`` does not take.

    Args:
        memory: makes the memory of each agent that has one; None leaves them theirs.
        services: arguments of ``configure``.
        seed: runs of one seed share cached answers; None shares none.
    """
    if seed is not None:
        Services.of(model).occurrences = Occurrences(seed)
    if memory is not None:
        for agent in model.agents:
            if hasattr(agent, "memory"):
                agent.memory = made_with(memory, agent)
    if services:
        configure(model, **services)


def _begun(
    model: Any, services: Services, recording: Recording | None
) -> dict[str, Any]:
    """Ends the run that is recorded, and begins another one."""
    before, services.recorder = services.recorder, None
    if before is not None:
        before.close()
    if recording is None:
        return {}
    from mesa_memory.runs.recording.restored import start

    return {"recorder": start(model, services, recording)}


def _agents(agents: Any) -> bool:
    if not isinstance(agents, bool):
        raise TypeError(f"agents must be True or False, got {agents!r:.80}")
    return agents


def _cache(cache: Any) -> Any:
    if cache is None:
        return None
    is_path = isinstance(cache, str | os.PathLike) and bool(str(cache))
    if not is_path or "://" in str(cache) or str(cache) == ":memory:":
        told = redaction.scrub(repr(cache))
        raise ValueError(
            f"cache must be the path of a file, such as 'cache.sqlite', or None; got {told}"
        )
    from mesa_memory.llm.cache import ResponseCache

    return ResponseCache.of(os.fspath(cache))


def _outcomes(outcomes: Any) -> tuple[str, ...]:
    names = outcomes if isinstance(outcomes, list | tuple) else [None]
    if not all(isinstance(name, str) and name.isidentifier() for name in names):
        raise TypeError(
            "outcomes must be names of attributes of the agents, such as ('belief',), "
            f"got {outcomes!r:.80}"
        )
    return tuple(dict.fromkeys(outcomes))


def _budget(budget: Any) -> Budget:
    if budget is not None and not isinstance(budget, Budget):
        raise TypeError(
            "budget must be a Budget(calls=…, tokens=…, cost=…) or None, got "
            f"{budget!r}"
        )
    return budget or Budget()


#: arguments that need nothing but themselves, and what makes a setting of each
_CHECKS: dict[str, Callable[[Any], Any]] = {
    "agents": _agents,
    "execution": lambda n: execution_of(n or os.environ.get("MESA_MEMORY_EXECUTION")),
    "on_failure": partial(one_of, "on_failure", ON_FAILURE),
    "max_pending_steps": partial(checked_int, "max_pending_steps"),
    "embedder": embedder_of,
    "budget": _budget,
    "cache": _cache,
    "replicate": partial(checked_int, "replicate", least=0),
    "outcomes": _outcomes,
}


def _answering(given: Mapping[str, Any]) -> dict[str, Any]:
    """Checks ``llm`` and ``offline``."""
    chosen: dict[str, Any] = {}
    llm, offline = given.get("llm"), given.get("offline")
    if offline not in (None, "all"):
        raise ValueError(f"offline must be 'all' or None, got {offline!r}")
    if offline and (not isinstance(llm, str) or llm != PROVIDER):
        raise ValueError(
            f"offline='all' needs llm='offline' in the same call, got {llm!r}"
        )
    if "llm" in given:
        name = llm if _is_model(llm) else None
        chosen |= {"model": name, "llm": None if name else _llm(llm)}
    if {"llm", "offline"} & given.keys():
        chosen["offline_for_all"] = offline == "all"
    return chosen


def _by_purpose(given: Mapping[str, Any]) -> dict[str, Any]:
    """Checks ``models``."""
    if "models" not in given:
        return {}
    models, llm = given["models"], given.get("llm")
    if not isinstance(models, Mapping):
        raise TypeError(f"models must be a mapping by purpose, got {models!r:.80}")
    known = (DEFAULT, *registered())
    for purpose, name in models.items():
        if purpose not in known:
            raise ValueError(
                f"models has the purpose {purpose!r:.80}; the purposes of memories are: "
                f"{', '.join(known)}"
            )
        if not isinstance(name, str) or not all(name.partition("/")):
            raise ValueError(
                f"the model for {purpose!r} must be 'provider/model', got {name!r:.80}"
            )
    usual = {DEFAULT: models[DEFAULT]} if DEFAULT in models else {}
    if llm is not None and (usual or not _is_model(llm)):
        raise ValueError(
            "models chooses a model for each purpose, and llm answers all requests: give "
            "models alone, with 'default' for all other purposes"
        )
    named = {p: name for p, name in models.items() if p != DEFAULT}
    default = {"model": usual[DEFAULT], "llm": None} if usual else {}
    return {"models": named} | default


def _is_model(llm: Any) -> bool:
    return isinstance(llm, str) and "/" in llm


def _told(services: Services, given: Mapping[str, Any]) -> dict[str, Any]:
    """The wordings, if ``language``, ``languages``, ``prompts`` or ``step_name`` is given."""
    languages = given.get("languages")
    if languages is not None and not callable(languages):
        raise TypeError(
            "languages must be a function of an agent, such as lambda agent: "
            f"agent.mother_tongue, got {languages!r:.80}"
        )
    fields = {"language": "language", "languages": "languages", "prompts": "folder"}
    new = {field: given[name] for name, field in fields.items() if name in given}
    if "step_name" in given:
        new["step_name"] = checked_step_name(given["step_name"])
    return {"wordings": replace(services.wordings, known={}, **new)} if new else {}


def _replay(model: Any, services: Services, given: Mapping[str, Any]) -> dict[str, Any]:
    """Checks ``replay``."""
    if "replay" not in given:
        return {}
    location = given["replay"]
    if location is None:
        return {"replay": None, "vectors": Vectors()}
    from mesa_memory.runs.recording import replay as replaying

    answers, vectors = replaying.replay(model, services, location)
    return {"replay": answers, "vectors": Vectors(vectors)}


def _check_settings(settings: Mapping[str, Any]) -> None:
    """Raises ``TypeError`` for an unknown setting; lists all settings."""
    arguments = list(inspect.signature(configure).parameters)[1:-1]
    names = [*arguments, *(item.name for item in fields(LLMSettings))]
    for unknown in [name for name in settings if name not in names]:
        near = difflib.get_close_matches(unknown, names, 1)
        hint = f": did you mean {near[0]!r}?" if near else "."
        raise TypeError(
            f"configure() has no setting {unknown!r}{hint} The settings are: "
            f"{', '.join(names)}."
        )


def _recording(record: Any) -> Recording | None:
    if record is None or record is False:
        return None
    return record if isinstance(record, Recording) else Recording(record)


def _llm(llm: Any) -> LLM | AsyncLLM | None:
    if llm is None or hasattr(llm, "complete") or hasattr(llm, "acomplete"):
        redaction.learn_named(getattr(llm, "__dict__", {}))
        return llm
    if llm == PROVIDER:
        return OfflineLLM()
    raise ValueError(
        "llm must be 'offline', a name like 'openai/gpt-4o-mini', an object with "
        f"complete() or acomplete(), or None; got {llm!r}"
    )
