"""Lets all layers of one memory think at the same time."""

from collections.abc import Callable, Sequence

from mesa_memory.core.requests import FAULTS, Effect, Fault, Flow, gather
from mesa_memory.layers.base import Layer


def think(
    layers: Sequence[Layer], guarded: Callable[[Flow[None]], Flow[None]]
) -> Flow[dict[str, Fault]]:
    """Lets each layer remember, at its own pace.

    A layer changes nothing but what is its own, and its records are numbered apart (see
    ``records.Part``), so that it does not matter whose reply comes first.

    Args:
        guarded: gives a flow that is alone with the memory whenever it does not wait.

    Returns:
        By the layer's name, the fault that ended its flow.
    """
    faults: dict[str, Fault] = {}
    begun: dict[str, Flow[None]] = {}
    for layer in layers:
        flow = guarded(layer.remember())
        try:
            begun[layer.name] = _going_on(flow, next(flow))
        except StopIteration:
            continue  # it had nothing to ask
        except FAULTS as fault:
            faults[layer.name] = fault
    outcomes = yield from gather(begun.values())
    for name, outcome in zip(begun, outcomes, strict=True):
        if isinstance(outcome, FAULTS):
            faults[name] = outcome
    return {each.name: faults[each.name] for each in layers if each.name in faults}


def _going_on(flow: Flow[None], effect: Effect) -> Flow[None]:
    """The rest of a flow that stands at an effect."""
    try:
        while True:
            try:
                answer = yield effect
            except Exception as error:
                effect = flow.throw(error)
            else:
                effect = flow.send(answer)
    except StopIteration:
        return
    finally:
        flow.close()
