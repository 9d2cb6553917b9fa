"""The table of guarantees: each test file's first line is what it promises.

``python docs/guarantees.py`` prints it; the site is built with it.
"""

import ast
from pathlib import Path

TESTS = Path(__file__).parent.parent / "tests"
#: folders of tests in the order of the table, and what a reader calls them
AREAS = {
    "memories": "Memories",
    "layers": "Layers",
    "retrieval": "Recall",
    "faults": "Requests and failures",
    "llm": "Language models",
    "runs": "Recorded runs",
    "stores": "Stores",
    "experiments": "Studies",
    "statistics": "Statistics",
    "viz": "Dashboard",
    "users": "Programs of users",
}


def promises(folder: str) -> list[tuple[str, str]]:
    """The file and first line of each test of a folder, in the order of names."""
    return [
        (
            file.stem,
            (ast.get_docstring(ast.parse(file.read_text("utf-8"))) or "").split("\n")[
                0
            ],
        )
        for file in sorted((TESTS / folder).glob("test_*.py"))
    ]


def table() -> str:
    """All promises as Markdown, a table for each area."""
    parts = []
    for folder, area in AREAS.items():
        rows = [f"| {said} | `{name}` |" for name, said in promises(folder)]
        parts.append(
            "\n".join(
                [
                    f"## {area}",
                    "",
                    f"| promise | `tests/{folder}/` |",
                    "|---|---|",
                    *rows,
                    "",
                ]
            )
        )
    return "\n".join(parts)


if __name__ == "__main__":
    print(table())
