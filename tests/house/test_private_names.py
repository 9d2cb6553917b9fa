"""No private names of others, no modules in a circle, no name for two classes."""

import ast

from mesa_llm.memory.memory import Memory

import mesa_memory
from benchmarks.structure import circles, imports, modules, repeated_classes

#: rooms in which the rule does not hold yet; each is to go
EXCEPTIONS = ("hosts", "retrieval", "viz")
#: methods of named tuples, whose names begin so that no field can have them
TUPLES = {"_replace", "_make", "_asdict", "_fields"}


def test_no_module_reaches_for_a_private_name_of_another_one():
    trees = modules()
    own = {name: defined(tree) for name, tree in trees.items()}
    everywhere = set().union(*own.values())
    found = [
        (module, line, name)
        for module, tree in trees.items()
        if module.partition(".")[0] not in EXCEPTIONS
        for line, name in reached_for(tree)
        if name in everywhere - own[module] - TUPLES
    ]
    assert not found


def is_private(name):
    return name.startswith("_") and not name.startswith("__") and name != "_"


def reached_for(tree):
    """(line, name) of each private attribute or import of a file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            yield node.lineno, node.attr
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if is_private(alias.name):
                    yield node.lineno, alias.name


def defined(tree):
    """The private names that a file defines: by a statement, on ``self``, in slots."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
                found.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return {name for name in found if is_private(name)}


def test_no_memory_stands_more_than_three_classes_below_mesa_llms():
    def below(kind):
        bases = [base for base in kind.__bases__ if issubclass(base, Memory)]
        return 0 if kind is Memory else 1 + max(map(below, bases))

    kinds = [getattr(mesa_memory, name) for name in mesa_memory.__all__]
    memories = [k for k in kinds if isinstance(k, type) and issubclass(k, Memory)]
    assert len(memories) >= 9
    assert max(map(below, memories)) <= 3


def test_no_modules_import_each_other_in_a_circle():
    assert circles(imports(modules())) == []


def test_no_two_classes_have_one_name():
    assert not repeated_classes(modules())
