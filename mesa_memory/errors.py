"""Every error of the package.

    MesaMemoryError
    ├── LLMError              a language-model request of a memory failed
    │   ├── LLMUnavailable    it may work later: timeout, 429, 5xx, connection
    │   ├── LLMRejected       it will not work as asked: key, model, context
    │   │   ├── PromptTooLong the prompt is longer than the model can read
    │   │   └── ContentFiltered the provider's content filter refuses a text
    │   ├── BadReply          the reply is not usable, also after its repair
    │   ├── BudgetExceeded    the call would cross the budget
    │   └── ReplayMismatch    the recorded run does not contain its answer
    ├── MemoryStalled         a memory's work kept failing; the run stops here
    ├── EmbedderError         texts could not be turned into vectors
    ├── DuplicatePurpose      another task has the same purpose
    ├── ParameterError        a run's model needs an argument that its file cannot give
    ├── MemoryMismatch        the memories of a run are not those of the new model
    ├── UnknownMemory         a name leads to no class of memory
    ├── CannotRecall          the memory does not rank its records
    ├── UndeclaredState       a resumed run would lose an attribute that a step has set
    ├── NoSeed                a model does not say what its random numbers begin with
    ├── StoreError            an operation on a store of recorded runs failed
    │   ├── StoreFull         no room is left on the disk
    │   ├── StoreBusy         another writer kept the lock too long
    │   │   └── RunInUse      another writer has this run
    │   ├── StoreUnavailable  it cannot be reached, or is gone
    │   ├── StoreCorrupt      what is in it cannot be a recorded run
    │   ├── StoreTooNew       a newer version of this package made it
    │   └── StoreReadOnly     it may be read, but not written
    ├── StudyError            a study cannot do the request
    │   ├── EmptyDesign       it has nothing to run
    │   ├── NotPicklable      a part of it cannot be sent to a worker
    │   ├── StudyChanged      what its runs are made with is not what it was
    │   ├── MeasureError      a table cannot keep what an outcome or measure gave
    │   └── WorkerLost        a worker process ended before it could begin
    ├── CacheError            a file of cached responses cannot be used
    ├── PromptFileError       a file of prompts is missing, or does not fit
    ├── HostChanged           Mesa, Mesa-LLM or Solara is not as this package knows it
    └── MissingExtra          an optional package is not installed

A wrong argument raises ``ValueError`` or ``TypeError`` with the value given.
"""

from typing import Any

from mesa_memory.core.text import redaction


class MesaMemoryError(Exception):
    """Base of all errors raised by this package; no text of them has a known secret.

    Args:
        details: values of the attributes that the class documents.
    """

    def __init__(self, message: str = "", **details: Any) -> None:
        for name, value in details.items():
            getattr(type(self), name)  # an unknown name is an AttributeError
            setattr(self, name, value)
        super().__init__(redaction.scrub(message))

    def __reduce__(self) -> tuple:
        """Errors of worker processes travel as pickles; without this they hang."""
        return _restored, (type(self), self.args, vars(self))


class LLMError(MesaMemoryError):
    """A language-model request failed.

    Attributes:
        purpose: what the request was for, such as ``"consolidate"``.
        agent: unique id of the agent whose memory asked.
        step: the model's clock when it asked.
        passing: True if waiting can cure it; the memory then tries again.
        failed: ``FailedAttempt`` objects; None if the client does not report them.
    """

    passing = False
    failed: tuple[Any, ...] | None = None
    purpose = ""
    agent: object = None
    step: float | None = None

    def __str__(self) -> str:
        where = {"agent": self.agent, "step": self.step}
        told = [f"{name} {value}" for name, value in where.items() if value is not None]
        prefix = f"{', '.join([*told, self.purpose])}: " if self.purpose else ""
        return prefix + super().__str__()


class LLMUnavailable(LLMError):
    """No answer within the attempts and the deadline; may work later.

    Attributes:
        retry_after: seconds that the provider asked to wait; 0 if it named none.
        sent: False if the request was not even sent, since that time is not over.
    """

    passing = True
    retry_after = 0.0
    sent = True


class LLMRejected(LLMError):
    """The provider refuses the request; the same request will fail again."""


class PromptTooLong(LLMRejected):
    """The prompt is too long for the model and cannot be split further."""


class ContentFiltered(LLMRejected):
    """The provider's content filter refuses a text; memories leave that event out."""


class BadReply(LLMError):
    """The model answered, but not usably, and its repair round failed, too."""

    passing = True


class BudgetExceeded(LLMError):
    """The next call would cross the budget; nothing was sent."""


class ReplayMismatch(LLMError):
    """A recorded run does not have the answer to a request; the message shows why."""


class MemoryStalled(MesaMemoryError):
    """A memory's work failed for too many steps; nothing it held is lost.

    Attributes:
        agent: unique id of the agent.
        step: the model's clock at the last attempt.
        purpose: what the failing request was for.
        pending_steps: how many steps in a row have failed.
    """

    def __init__(self, cause: "LLMError | EmbedderError", pending_steps: int) -> None:
        self.agent = cause.agent
        self.step = cause.step
        self.purpose = cause.purpose
        self.pending_steps = pending_steps
        super().__init__(
            f"agent {cause.agent}, step {cause.step}: {cause.purpose} has failed for "
            f"{pending_steps} step(s) in a row ({Exception.__str__(cause)}). Nothing "
            "is lost: repair the cause and continue, or allow more with "
            "configure(model, max_pending_steps=…, on_failure='continue')."
        )


class ParameterError(MesaMemoryError, ValueError):
    """A run's model cannot be made again from the file; names the missing arguments.

    Attributes:
        names: of the arguments that ``resume`` or ``fork`` must be given.
    """

    names: tuple[str, ...] = ()


class DuplicatePurpose(MesaMemoryError, ValueError):
    """Two tasks have the same purpose, so they cannot be told apart.

    Attributes:
        purpose: of both.
        known, given: where the two are defined.
    """

    def __init__(self, purpose: str, known: str, given: str) -> None:
        self.purpose, self.known, self.given = purpose, known, given
        super().__init__(
            f"a task with the purpose {purpose!r} exists already (schema and prompt: "
            f"{known}), so it cannot be defined by {given}. Choose another purpose. "
            "To answer the existing one in another way, use "
            f"configure(model, llm=OfflineLLM({{{purpose!r}: function}}))."
        )


class MemoryMismatch(MesaMemoryError, ValueError):
    """The new model lacks an agent of the run, or gives it another class of memory.

    The message names the agents, and what to do.
    """


class CannotRecall(MesaMemoryError, AttributeError):
    """The memory does not rank its records; the message names those that do."""


class UndeclaredState(MesaMemoryError, TypeError):
    """A resumed run would lose an attribute of a layer or a memory.

    It was set in a step and ``state`` does not name it, or it cannot be recorded.
    """


class UnknownMemory(MesaMemoryError, ValueError):
    """A name does not lead to a class of memory; the message lists the names.

    Attributes:
        names: the names there are, if the name is unknown.
    """

    names: tuple[str, ...] = ()


class NoSeed(MesaMemoryError, ValueError):
    """The model lacks a seed, so ``draw()`` cannot be reproducible."""


class EmbedderError(MesaMemoryError):
    """Texts could not be embedded; the message says how to repair it.

    Attributes:
        passing: True if waiting can cure it, such as a provider's outage.
        agent: unique id of the agent whose memory asked, if one did.
        step: the model's clock when it asked.
        purpose: ``"embed"``.
        retry_after: seconds that the provider asked to wait; 0 if it named none.
        sent: False if the texts were not even sent, since that time is not over.
    """

    agent: object = None
    step: float | None = None
    purpose = "embed"
    passing = False
    retry_after = 0.0
    sent = True


class _AtLocation(MesaMemoryError):
    """An error about a file or a database.

    Attributes:
        location: its path or address, without password.
    """

    location = ""

    def __init__(self, message: str, *, location: str = "", **details: Any) -> None:
        super().__init__(message, location=redaction.scrub(location), **details)

    def __str__(self) -> str:
        where = f"{self.location}: " if self.location else ""
        return where + super().__str__()


class StoreError(_AtLocation):
    """An operation on a store of recorded runs failed; its data is kept."""


class StoreFull(StoreError):
    """The disk or database is full; the last transaction was not written."""


class StoreBusy(StoreError):
    """Another writer held the store for longer than the timeout."""


class RunInUse(StoreBusy):
    """Another writer has this run; the message names it, and its start.

    Attributes:
        here: True if it is another model of this process.
    """

    here = False


class StoreUnavailable(StoreError):
    """The store cannot be reached, or was moved or deleted while in use."""


class StoreCorrupt(StoreError):
    """The store is damaged, or is not a recorded run."""


class StoreTooNew(StoreError):
    """A newer version of this package made the store."""


class StoreReadOnly(StoreError):
    """The store may be read, but not written."""


class StudyError(MesaMemoryError):
    """An operation on a study failed; its results are kept."""


class EmptyDesign(StudyError, ValueError):
    """A study has nothing to run: no rows, no seeds, or a factor without values."""


class NotPicklable(StudyError, TypeError):
    """A part of a study cannot be sent to a worker process.

    Attributes:
        name: of the part.
    """

    name = ""


class StudyChanged(StudyError):
    """The inputs of a study's runs have changed; the message names them.

    Attributes:
        differences: each in words.
    """

    differences: tuple[str, ...] = ()


class MeasureError(StudyError, TypeError):
    """An outcome or a measure gave a value that no table can keep."""


class WorkerLost(StudyError):
    """A worker process ended before it could begin; the message has the remedy."""


class CacheError(_AtLocation):
    """A file of cached responses cannot be used; the message has the remedy."""


class PromptFileError(MesaMemoryError, ValueError):
    """A file of prompts, or its language, is missing, or the file does not fit."""


class HostChanged(MesaMemoryError):
    """A package that this one works inside of is not as it is known here.

    Attributes:
        package: its name, as it is installed.
    """

    def __init__(self, message: str, package: str) -> None:
        super().__init__(message)
        self.package = package


class MissingExtra(MesaMemoryError):
    """An optional package is needed and not installed.

    Attributes:
        package: its name.
        extra: the extra of this package that brings it.
    """

    def __init__(self, package: str, extra: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(
            f"the package {package!r} is not installed. Get it with: "
            f'pip install "mesa-memory[{extra}]"'
        )


def _restored(kind: type[BaseException], args: tuple, state: dict) -> BaseException:
    error = kind.__new__(kind, *args)
    error.args = args
    vars(error).update(state)
    return error
