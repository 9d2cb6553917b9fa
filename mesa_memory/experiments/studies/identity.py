"""A text that tells apart what a user gave under one name: a function, a level."""

import ast
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

from mesa_memory.core.codec import encode


def identity(given: Any) -> Any:
    """The name of a function and the values bound to it, as JSON; plain data as it is.

    Another object is known by its class, a dataclass with a hash also by its fields. The code
    of a function is not in it, except of a lambda, which has no name.
    """
    if isinstance(given, partial):
        return [identity(given.func), identity(given.args), identity(given.keywords)]
    if isinstance(given, list | tuple):
        return [identity(each) for each in given]
    if isinstance(given, dict):
        return {str(name): identity(each) for name, each in given.items()}
    if inspect.isfunction(given):
        name = given.__qualname__
        told = _source(given) if name.endswith("<lambda>") else name
        bound = inspect.getclosurevars(given).nonlocals
        values = [*(given.__defaults__ or ()), given.__kwdefaults__ or {}, bound]
        return [told, *map(identity, filter(None, values))]
    if isinstance(given, type) or inspect.isroutine(given):
        return given.__qualname__
    if is_dataclass(given) and given.__hash__ is not None:  # nothing changes its fields
        own = {each.name: getattr(given, each.name) for each in fields(given)}
        return [type(given).__qualname__, identity(own)]
    return encode(given)


def _source(function: Callable[..., Any]) -> str:
    """The code of the lambdas that begin in a function's line."""
    try:
        lines, _ = inspect.findsource(function)
        tree = ast.parse("".join(lines))
    except (OSError, SyntaxError):  # typed into a console
        return function.__qualname__
    first = function.__code__.co_firstlineno
    found = [each for each in ast.walk(tree) if isinstance(each, ast.Lambda)]
    return "; ".join(ast.unparse(each) for each in found if each.lineno == first)
