"""Studies: many runs of a model, with memory as a factor, on one machine or many."""

from typing import Any

from mesa_memory import exported

_PLACES = {
    "After": "experiments.measures.after",
    "BiographyQuestions": "experiments.measures.biographies",
    "ChangeAfter": "experiments.changes",
    "Exam": "experiments.exam.exam",
    "MemoryQuiz": "experiments.measures.quiz",
    "Plan": "statistics.plan",
    "Processes": "experiments.studies.executors",
    "Question": "experiments.measures.questions",
    "Questionnaire": "experiments.measures.questionnaires",
    "Retention": "experiments.measures.retention",
    "Study": "experiments.studies.study",
    "attribute": "experiments.attribution",
    "draw": "hosts.draws",
    "estimate": "experiments.estimates",
    "retention": "experiments.measures.retention",
    "quiz_shares": "experiments.measures.quiz",
    "placebo": "experiments.controls",
    "verify": "experiments.reports.archive",
}

__all__ = sorted(_PLACES)  # noqa: PLE0605 - names come from the table above


def __getattr__(name: str) -> Any:
    return exported(__name__, _PLACES, name)
