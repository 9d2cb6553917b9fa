"""No code looks into the interpreter or changes the classes of other packages."""

import re

from tests.house.layout import FILES, place

TRICKS = re.compile(
    r"sys\._getframe|\bimport dis\b|\bdis\.|gc\.get_referents|gc\.set_threshold"
    r"|os\.environ\._data|\.__class__ = |\.__new__ = |\.__init__ = "
    r"|setattr\(\s*\w+, \w+, staticmethod|_register_atexit"
)
#: file -> why it may, and no other way was found
EXCEPTIONS = {
    "hosts/mesa.py": "Mesa has no hook that sees what a model is made with",
    "hosts/litellm.py": "litellm makes clients of its own that have no limits",
    "runtime/loop.py": "at the time of atexit no name can be looked up any more",
}


def test_no_file_looks_into_the_interpreter_or_changes_foreign_classes():
    found = {place(path) for path in FILES if TRICKS.search(path.read_text("utf-8"))}
    assert found == EXCEPTIONS.keys()
    assert len(EXCEPTIONS) <= 3
