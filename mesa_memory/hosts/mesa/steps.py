"""Mesa: the end of a model's step."""

import weakref
from collections.abc import Callable
from typing import Any

from mesa_memory.hosts import CallableWrapper
from mesa_memory.hosts.mesa.model import check_model


class StepObserver:
    """Reports the end of a model's step: when all events at its time are over.

    So the events of a simulator, or of ``run_for``, are steps of their own, at times
    between those of the user's step.

    Args:
        model: is held weakly.
        over: called then, with True if the user's step was among them.

    Attributes:
        active: False while ``over`` must not be called.

    Raises:
        HostChanged: if this Mesa cannot be watched.
    """

    def __init__(self, model: Any, over: Callable[[bool], None]) -> None:
        check_model(model)
        self._model, self._over = weakref.ref(model), over
        self._event: Any = None  # the last one that was handed out
        self._failed = self.active = False
        self._steps = model._default_schedule.execution_count
        events = model._event_list
        _Pop(events, "pop_event", self)
        _Advance(model, "_advance_time", self)

    @property
    def model(self) -> Any:
        """The model; None once it is gone."""
        return self._model()

    @property
    def unfinished(self) -> bool:
        """True if a step was begun and failed, or is not over."""
        return self._failed or self._has_happened()

    def detach(self) -> None:
        """Restores the model's methods, but keeps wrappers that others have added since."""
        model, self.active = self.model, False
        if model is None:
            return
        for owner in (model, model._event_list):
            for here in list(vars(owner).values()):
                if isinstance(here, _Watched) and here.observer is self:
                    here.take_away(owner)

    def next_event(self, take: Callable[[], Any]) -> Any:
        """The next event; before it, the end of all that was at an earlier time."""
        model = self.model
        try:
            event = take()
        except IndexError:
            self._end()
            raise
        if model is not None and event.time > model.time:
            try:
                self._end()
            except BaseException:
                model._event_list.add_event(event)  # it is still to come
                raise
        self._event = event
        return event

    def fail(self) -> None:
        """The current step ended with an error."""
        self._event, self._failed = None, True

    def _end(self) -> None:
        model = self.model
        if model is not None and self._has_happened():
            before, self._steps = self._steps, model._default_schedule.execution_count
            if self.active:
                self._over(self._steps > before)
            self._failed = False
        self._event = None

    def _has_happened(self) -> bool:
        """False if the event was put back: it is to come later."""
        model = self.model
        event = self._event
        return event is not None and model is not None and model.time >= event.time


class _Watched(CallableWrapper):
    """Puts itself in the place of a method of ``owner``."""

    def __init__(self, owner: Any, name: str, observer: StepObserver) -> None:
        super().__init__(getattr(owner, name))
        self.name, self.observer = name, observer
        self._own = name in vars(owner)  # and not only of its class
        setattr(owner, name, self)

    def take_away(self, owner: Any) -> None:
        """Restores the method, unless another wrapper was added since."""
        if vars(owner).get(self.name) is not self:
            return
        if self._own:
            setattr(owner, self.name, self.inner)
        else:
            delattr(owner, self.name)


class _Pop(_Watched):
    """A list of events handing out the next one."""

    def __call__(self) -> Any:
        return self.observer.next_event(self.inner)


class _Advance(_Watched):
    """A model letting time pass."""

    def __call__(self, *args: Any, **given: Any) -> Any:
        try:
            return self.inner(*args, **given)
        except BaseException:
            self.observer.fail()
            raise
