"""Calls, tokens and dollars of runs, before they are paid.

Two short runs without a language model (pilots), with a seed each, count requests by
purpose; nothing is sent, recorded or paid. The counts per agent and step go on to the run's
last step and to all agents; the range spans the two seeds.
"""

import hashlib
import inspect
import json
import warnings
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from mesa_memory.core.codec import encode, readable
from mesa_memory.core.content import dollars
from mesa_memory.core.notebook import NotebookShown
from mesa_memory.core.requests import ChatRequest, LLMRequest, Reply
from mesa_memory.core.validate import checked_int, checked_number
from mesa_memory.embedders import embedder as embedder_of
from mesa_memory.errors import StoreUnavailable, StudyError
from mesa_memory.experiments.studies.analysis import asked_seeds
from mesa_memory.experiments.studies.arm import Arm
from mesa_memory.experiments.studies.design import Case
from mesa_memory.experiments.studies.forks import forks_of
from mesa_memory.llm.doubles.offline import OfflineLLM
from mesa_memory.llm.doubles.policy import (
    PROVIDER,
    PolicyInput,
    answer,
    register_policy,
)
from mesa_memory.llm.doubles.replay import override_client
from mesa_memory.llm.ledger import Budget, usage_of
from mesa_memory.llm.prices import FREE, Price, price
from mesa_memory.llm.tokens import count_tokens
from mesa_memory.runs.recorded import Table
from mesa_memory.runtime.services import Services
from mesa_memory.stores.studies import CaseRow

#: quantities of a forecast, by their names in a ledger
QUANTITIES = ("calls", "prompt_tokens", "cached_tokens", "completion_tokens", "cost")
#: names of a model's argument for the number of agents, the likeliest first
AGENT_ARGUMENTS = (
    "n_agents", "num_agents", "number_of_agents", "agents", "n_people", "people",
    "population", "population_size", "n", "N",
)  # fmt: skip
#: agents times steps of both pilots together
EFFORT_AGENT_STEPS = 3000
#: number of pilots; steps and agents that a shortened pilot still has
PILOTS, MIN_STEPS, MIN_AGENTS = 2, 50, 8
#: share of a pilot, at its end, whose mean goes on after it
CONTINUED_SHARE = 1 / 3
#: requests of a purpose whose texts are counted again for named models
SAMPLE_SIZE = 64
#: tokens by which a provider's cache grows, and of the shortest prompt that it keeps
#: (OpenAI's numbers)
CACHE_BLOCK_TOKENS, MIN_CACHED_TOKENS = 128, 1024
#: characters to a token, where nobody has counted
CHARS_PER_TOKEN = 4
#: policy of agents that reason with a provider's model, and its reply
_POLICY_NAME = "estimate"
_SENTENCE = "I look around, remember what I was told and go on with my work for today."
#: the factor that says which language model is asked
LLM = "llm"
#: settings of ``configure`` that a pilot does without
_NOT_IN_PILOTS = ("cache", "replay")
_written = json.JSONEncoder(default=str, ensure_ascii=False).encode


class Range(NamedTuple):
    """The mean of the pilots, and the lowest and highest of them; None if unknown."""

    value: Any
    low: Any
    high: Any

    @classmethod
    def of(cls, values: np.ndarray) -> "Range":
        """The range of the pilots' values, shape (pilots,)."""
        if np.isnan(values).any():
            return cls(None, None, None)
        return cls(float(values.mean()), float(values.min()), float(values.max()))

    def named(self, name: str) -> dict[str, Any]:
        """As columns of a table."""
        return dict(zip((name, f"{name}_low", f"{name}_high"), self))


@dataclass(frozen=True)
class Estimate(NotebookShown):
    """The forecast of runs of one model.

    Attributes:
        agents, steps: of each run.
        runs: number of runs.
        counts: of all runs by purpose, shape (pilots, 5), as in ``QUANTITIES``; tokens
            at four characters each, and no cost (NaN).
        priced: the same by model; tokens as the model's own tokenizer counts them where
            it is known, and the cost in US dollars.
        pilots: agents and steps of each pilot.
        labels: what varies in a study, by factor.
    """

    agents: int
    steps: int
    runs: int
    counts: Mapping[str, np.ndarray]
    priced: Mapping[str, np.ndarray]
    pilots: tuple[tuple[int, int], ...]
    labels: Mapping[str, Any] = field(default_factory=dict)

    @property
    def calls(self) -> Range:
        """Requests in all runs."""
        return Range.of(self._total()[:, 0])

    @property
    def tokens(self) -> Range:
        """Tokens in and out in all runs: of the first model, or at four characters."""
        total = self._total()
        return Range.of(total[:, 1] + total[:, 3])

    @property
    def cost(self) -> Range:
        """US dollars of all runs, with the model that is priced first."""
        return Range.of(self._total()[:, 4])

    def _total(self) -> np.ndarray:
        """All purposes, for the model that is priced first."""
        none = np.zeros((len(self.pilots), len(QUANTITIES)))
        none[:, 4] = np.nan
        return next(iter(self.priced.values()), sum(self.counts.values(), none))

    def of(
        self, models: Collection[str], runs: int, labels: Mapping[str, Any]
    ) -> "Estimate":
        """The forecast of an arm's runs and of some models, from that of one run."""
        counts = {name: values * runs for name, values in self.counts.items()}
        priced = {k: v * runs for k, v in self.priced.items() if k in models}
        return replace(self, runs=runs, counts=counts, priced=priced, labels=labels)

    def purposes(self, *, as_records: bool = False) -> Any:
        """Calls and tokens by purpose; tokens at four characters each."""
        rows = [
            {"purpose": name} | Range.of(values[:, 0]).named("calls") | _tokens(values)
            for name, values in self.counts.items()
        ]
        return Table.of(rows).given(as_records)

    def costs(self, *, as_records: bool = False) -> Any:
        """The cost with each model, with the range over the pilots."""
        rows = [
            {"model": model, "calls": round(self.calls.value)}
            | _tokens(values)
            | Range.of(values[:, 4]).named("cost")
            for model, values in self.priced.items()
        ]
        return Table.of(rows).given(as_records)


def _tokens(values: np.ndarray) -> dict[str, int]:
    means = values.mean(axis=0)[1:4]
    return {name: round(float(n)) for name, n in zip(QUANTITIES[1:4], means)}


@dataclass(frozen=True)
class StudyEstimate(NotebookShown):
    """The forecast of a study's missing runs.

    Attributes:
        arms: in the order of the design; arms without a missing run are left out.
    """

    arms: tuple[Estimate, ...]

    @property
    def runs(self) -> int:
        """The number of missing runs."""
        return sum(arm.runs for arm in self.arms)

    @property
    def total(self) -> dict[str, Any]:
        """Runs, calls, tokens and dollars of all arms together.

        Each arm counts with its first model. Without the price of an arm, the cost is
        None.
        """
        return {
            "runs": self.runs,
            "calls": round(sum(arm.calls.value for arm in self.arms)),
            "tokens": round(sum(arm.tokens.value for arm in self.arms)),
            "cost": _sum([arm.cost.value for arm in self.arms]),
        }

    def __str__(self) -> str:
        """The factors that all arms share, a row for each arm and model, and the total."""
        if not self.arms:
            return "Nothing is missing: all runs of the study are finished."
        total, rows = self.total, self.costs()
        factors = [name for name in self.arms[0].labels if name in rows]
        same = [name for name in factors if rows[name].map(str).nunique() == 1]
        common = "".join(f"{name}: {rows[name].iloc[0]}\n" for name in same)
        shown = rows.drop(columns=same).to_string(index=False)
        table = "" if rows.empty else f"{shown}\n"
        cost = f"${dollars(total['cost'])}" if total["cost"] is not None else (
            "unknown; name a model that has a price, such as openai/gpt-5-mini"
        )  # fmt: skip
        last = f"{total['runs']} runs: {total['calls']:,} calls, {total['tokens']:,} tokens"
        return f"{common}{table}total of {last}, cost {cost}"

    def costs(self, *, as_records: bool = False) -> Any:
        """Calls, tokens and dollars of each arm, by model."""
        rows = [
            {**arm.labels, "runs": arm.runs, **row}
            for arm in self.arms
            for row in arm.costs(as_records=True)
        ]
        return Table.of(rows).given(as_records)


class Pilot:
    """A client without a model that counts requests and replies.

    Attributes:
        steps: steps of the pilot.
        step: the step to which requests are counted; 0 is before the first one.
        agents: mean number of agents with a language model or a memory.
        counts: by purpose, shape (steps + 1, 5): the counts of all agents in each step,
            as in ``QUANTITIES``.
    """

    instant = True

    def __init__(self, steps: int, policy: Callable[[PolicyInput], Any] | None) -> None:
        self.steps, self.step, self.agents = steps, 0, 0.0
        self.counts: dict[str, np.ndarray] = defaultdict(
            lambda: np.zeros((steps + 1, len(QUANTITIES)))
        )
        self._samples: dict[str, deque] = defaultdict(lambda: deque(maxlen=SAMPLE_SIZE))
        self._lock, self._offline = Lock(), OfflineLLM()
        self._seen: set[bytes] = set()  # beginnings of prompts
        self._policy = register_policy(_POLICY_NAME, policy or (lambda turn: _SENTENCE))

    def complete(self, request: LLMRequest) -> Reply:
        """An answer, the same in every process."""
        with self._lock:
            reply = self._answered(request)
            used, prompt = usage_of(request, reply), request.tokens
            cached = min(self._known(request), prompt)
            counts = self.counts[request.purpose][self.step]
            counts += (1, prompt, cached, used.completion_tokens, np.nan)
            words = "\n".join(m["content"] or "" for m in request.messages())
            self._samples[request.purpose].append((words, reply.text or ""))
        return reply

    def again(self) -> "Pilot":
        """The same for copies of the model."""
        return self

    def of_run(self, purpose: str, steps: int, since: int = 0) -> np.ndarray:
        """The counts of one agent after step ``since`` of a run, shape (5,).

        After the pilot's end, the mean of its last third goes on.
        """
        counted = self.counts[purpose] / max(self.agents, 1)
        own = counted[since + 1 if since else 0 : steps + 1].sum(axis=0)
        end = counted[-max(1, round(self.steps * CONTINUED_SHARE)) :].mean(axis=0)
        return own + end * max(0, steps - max(self.steps, since))

    def token_ratios(self, purpose: str, model: str) -> tuple[float, float]:
        """Tokens of a named model per token counted here: of prompts, of replies."""
        prompts, replies = zip(*self._samples[purpose] or [("", "")])
        return _ratio(prompts, model), _ratio(replies, model)

    def _known(self, request: LLMRequest) -> int:
        """Tokens at the beginning of a prompt that began an earlier one.

        Providers read these from their caches, in blocks of ``CACHE_BLOCK_TOKENS``;
        fewer than ``MIN_CACHED_TOKENS`` count as 0. The prompt is remembered, too.
        """
        sent = _written([request.arguments, request.messages()])
        text = sent.encode("utf-8", "surrogatepass")
        step, known = CACHE_BLOCK_TOKENS * CHARS_PER_TOKEN, 0
        digest = hashlib.blake2b((request.model or "").encode())
        for end in range(step, len(text) + 1, step):
            digest.update(text[end - step : end])
            begun = digest.digest()[:16]
            if begun in self._seen:
                known = end // CHARS_PER_TOKEN
            self._seen.add(begun)
        return known if known >= MIN_CACHED_TOKENS else 0

    def _answered(self, request: LLMRequest) -> Reply:
        provider, _, _ = (request.model or "").partition("/")
        if provider == PROVIDER or not isinstance(request, ChatRequest):
            return self._offline.complete(request)
        turn = PolicyInput.of(request.messages(), request.arguments)
        response = answer(self._policy.partition("/")[2], turn)
        text = response.choices[0].message.content
        return Reply(text, request.model or "", cost=0.0, raw=response)


def run_pilot(
    model_class: Callable[..., Any],
    parameters: Mapping[str, Any],
    steps: int,
    seed: int,
    policy: Callable[[PolicyInput], Any] | None = None,
    change: Callable[[Any], Any] | None = None,
) -> Pilot:
    """Runs a model for some steps without a language model, and counts its requests.

    Args:
        model_class: makes the model. An argument ``llm`` becomes ``"offline"`` and an
            argument ``record`` None, also if ``parameters`` name others.
        seed: goes to an argument ``rng`` or ``seed``, if ``parameters`` have neither.
        policy: answers for agents that reason with a provider's model, see
            ``register_policy``; by default one sentence.
        change: called with the model before each step.

    Raises:
        ValueError, TypeError: of the model's own constructor.
    """
    pilot, people = Pilot(steps, policy), 0
    with warnings.catch_warnings(), override_client(pilot):
        warnings.simplefilter("ignore")  # the run itself will warn
        model = model_class(**_arguments(model_class, parameters, seed))
        services = Services.of(model)
        services.agents = True
        services.replay = pilot  # the model may have configured another one
        services.ledger.budget = Budget()
        if not services.embeds_here:
            services.embedder = embedder_of("static")
        for pilot.step in range(1, steps + 1):
            if change is not None:
                change(model)
            for agent in model.agents:
                people += hasattr(agent, "llm") or hasattr(agent, "memory")
            model.step()
            services.flush()
    pilot.agents = people / steps
    return pilot


def _arguments(
    model_class: Callable[..., Any], parameters: Mapping[str, Any], seed: int
) -> dict[str, Any]:
    given, takes = dict(parameters), inspect.signature(model_class).parameters
    given |= {n: v for n, v in (("llm", PROVIDER), ("record", None)) if n in takes}
    if not {"rng", "seed", "scenario"} & given.keys():
        given |= dict.fromkeys([n for n in ("rng", "seed") if n in takes][:1], seed)
    return given


def _ratio(texts: tuple[str, ...], model: str) -> float:
    ours = sum(count_tokens(text) for text in texts)
    return sum(count_tokens(text, model) for text in texts) / ours if ours else 1.0


def estimate(
    model_class: Callable[..., Any],
    parameters: Mapping[str, Any] | None = None,
    *,
    steps: int,
    llm: str | Sequence[str] = (),
    cached: float | None = None,
    replies: Mapping[str, float] | None = None,
    runs: int = 1,
    prices: Mapping[str, Any] | None = None,
    policy: Callable[[PolicyInput], Any] | None = None,
    effort: int = EFFORT_AGENT_STEPS,
    seed: int = 0,
    since: int = 0,
    change: Callable[[Any], Any] | None = None,
) -> Estimate:
    """Forecasts the requests and the cost of runs of a model; sends and pays nothing.

    Args:
        model_class: makes the model; an argument ``llm`` gets ``"offline"`` in pilots.
        parameters: of the model. A pilot of fewer agents is made with the first argument in
            ``AGENT_ARGUMENTS``; a model without one has all its agents in the pilots.
        steps: of a run.
        llm: names of the models to be priced, such as ``"openai/gpt-5-mini"``.
        cached: share of the prompt tokens that the provider reads from its cache, 0 to
            1; None works it out from the prompts, as OpenAI documents its cache.
        replies: tokens of a reply by purpose, where you know better than the pilot: a
            language model may say more than the offline answers do.
        runs: number of runs, one for each seed.
        prices: prices of models that litellm's list does not have, by name: a ``Price``
            or US dollars per prompt token and per reply token.
        policy: answers for agents that reason with a provider's model.
        effort: agents times steps of both pilots.
        seed: of the first pilot; the second has the next one.
        since: a step; only what comes after it is counted.
        change: called with the model before each step; pilots then have all steps.

    Raises:
        ValueError: for a number out of its range.
    """
    given = dict(parameters or {})
    for size, value in (("steps", steps), ("runs", runs), ("effort", effort)):
        checked_int(size, value)
    if cached is not None and checked_number("cached", cached) > 1:
        raise ValueError(f"cached must be a share from 0 to 1, got {cached!r}")
    name, count = _agents(model_class, given)
    few, length = _size(count, steps, effort // PILOTS)
    if name is not None:
        given[name] = few
    if change is not None:
        length = steps
    pilots = [
        run_pilot(model_class, given, length, seed + turn, policy, change)
        for turn in range(PILOTS)
    ]
    count = round(pilots[0].agents) if count is None else count
    counts = {}
    for purpose in sorted({name for pilot in pilots for name in pilot.counts}):
        each = np.array([pilot.of_run(purpose, steps, since) for pilot in pilots])
        if replies and purpose in replies:
            tokens = checked_number(f"replies[{purpose!r}]", replies[purpose])
            each[:, 3] = each[:, 0] * tokens
        counts[purpose] = each * count * runs
    priced = {
        model: _priced(counts, pilots[0], model, cached, prices or {})
        for model in ([llm] if isinstance(llm, str) else llm)
    }
    sizes = tuple((round(pilot.agents), pilot.steps) for pilot in pilots)
    return Estimate(count, steps, runs, counts, priced, sizes)


def _agents(
    model_class: Callable[..., Any], given: Mapping[str, Any]
) -> tuple[str | None, int | None]:
    """The argument for the number of agents, and the number; None if unknown."""
    takes = inspect.signature(model_class).parameters
    for name in AGENT_ARGUMENTS:
        value = given.get(name, takes[name].default) if name in takes else None
        if isinstance(value, int) and value > 0:
            return name, value
    return None, None


def _size(count: int | None, steps: int, effort: int) -> tuple[int, int]:
    """Agents (1 if their number is unknown) and steps of a pilot."""
    if count is None:
        return 1, min(steps, max(MIN_STEPS, effort // 10))
    few = min(count, max(MIN_AGENTS, effort // min(steps, MIN_STEPS)))
    return few, max(min(steps, 2), min(steps, effort // few))


def _priced(
    by_purpose: Mapping[str, np.ndarray],
    pilot: Pilot,
    model: str,
    share: float | None,
    prices: Mapping[str, Any],
) -> np.ndarray:
    """All purposes at the price of one model; see ``Estimate.priced``."""
    price, total = _price_of(model, prices), np.zeros((PILOTS, 5))
    reads = price is not None and price.cached is not None
    for purpose, counts in by_purpose.items():
        prompt, reply = pilot.token_ratios(purpose, model)
        own = counts * np.array([1, prompt, prompt if reads else 0, reply, np.nan])
        if share is not None:
            own[:, 2] = own[:, 1] * share
        total += own
    total[:, 4] = [
        np.nan if price is None else price.cost(sent, said, read)
        for _, sent, read, said, _ in total
    ]
    return total


def _price_of(model: str, prices: Mapping[str, Any]) -> Price | None:
    if model in prices:
        return Price.of(prices[model])
    if model.partition("/")[0] == PROVIDER:
        return FREE
    return price(model)


def estimate_study(
    study: Any, llm: str | Sequence[str] = (), **given: Any
) -> StudyEstimate:
    """See ``Study.estimate``. Arms that differ in ``llm`` alone share their pilots."""
    arms: dict[str, list[Case]] = {}
    cases_left, beginnings = _missing_runs(study)
    for case in cases_left:
        arms.setdefault(_key(case.labels), []).append(case)
    models = {key: _models(cases[0], llm) for key, cases in arms.items()}
    named = list(dict.fromkeys(name for names in models.values() for name in names))
    alike: dict[tuple[str, int], list[str]] = {}
    for key, cases in arms.items():
        since = int(min(beginnings.get(case.key, 0) for case in cases))
        others = {name: v for name, v in cases[0].labels.items() if name != LLM}
        alike.setdefault((_key(others), since), []).append(key)
    found: dict[str, Estimate] = {}
    for (_, since), keys in alike.items():
        told = _of_one_run(study, arms[keys[0]][0], llm=named, since=since, **given)
        for key in keys:
            labels = {n: readable(v) for n, v in arms[key][0].labels.items()}
            found[key] = told.of(models[key], len(arms[key]), labels)
    return StudyEstimate(tuple(found[key] for key in arms))


def _missing_runs(study: Any) -> tuple[list[Case], dict[str, float]]:
    """The cases that are wanted and not finished, in the order of the design.

    Returns:
        The cases; and by the key of a case the step up to which it begins as another
        one, which makes these steps.
    """
    rows, checkpoints, kept = [], {}, {}
    try:
        with study.stored() as (studies, row):
            rows, kept = studies.cases(row.id), row.design
            checkpoints = studies.checkpoints(row.id)
    except (StoreUnavailable, StudyError):
        pass  # nothing of it has been run
    done = {row.key for row in rows if not row.due and row.steps >= study.steps}
    wanted = study.design.first(asked_seeds(study, kept)).cases
    known = {row.key for row in rows}
    last = max((row.number for row in rows), default=0)
    rows = [replace(row, steps=max(row.steps, study.steps)) for row in rows]
    rows += [
        CaseRow(0, last + number, case.key, "", {}, None, 0, float(study.steps))
        for number, case in enumerate(study.design.cases, start=1)
        if case.key not in known
    ]
    begun = {k: fork.step for k, fork in forks_of(study, rows, checkpoints).items()}
    return [case for case in wanted if case.key not in done], begun


def _of_one_run(study: Any, case: Case, **given: Any) -> Estimate:
    """The forecast of a case, made and changed as a study's worker does it."""

    def make(**parameters: Any) -> Any:
        return Arm.of(study.model, Case(parameters, {})).make()

    make.__signature__ = inspect.signature(study.model)  # type: ignore[attr-defined]
    parameters = {n: v for n, v in case.parameters.items() if n not in _NOT_IN_PILOTS}
    if LLM in parameters:
        parameters[LLM] = PROVIDER
    change = Arm.of(study.model, case).change if case.changes else None
    return estimate(make, parameters, steps=study.steps, change=change, **given)


def _models(case: Case, llm: str | Sequence[str]) -> list[str]:
    """The models that an arm is priced for: those asked for, or its own."""
    own = case.parameters.get(LLM)
    named = llm or (own if isinstance(own, str) and own != PROVIDER else ())
    return [named] if isinstance(named, str) else list(named)


def _sum(values: Sequence[Any]) -> Any:
    return None if None in values else sum(values)


def _key(labels: Mapping[str, Any]) -> str:
    return json.dumps(encode(dict(labels)), sort_keys=True, default=str)
