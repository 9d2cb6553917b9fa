"""Each package of others is imported in its own place only."""

from tests.house.layout import FILES, heads, place

#: a model and agents, as a user writes them
LIFE = "experiments/exam/life.py"
#: package -> where it may be imported: files, or folders that end with a slash
PLACES = {
    "mesa": ("hosts/", "testing.py", LIFE),
    "mesa_llm": ("hosts/", "testing.py", LIFE),
    "solara": ("viz/", "hosts/solara.py"),
    "uvicorn": ("viz/",),
    "ipyvuetify": ("viz/",),
    "litellm": ("llm/", "embedders/litellm.py", "hosts/"),
    "dask": (),
    "mpi4py": ("experiments/studies/executors.py",),
    "fastembed": ("embedders/local.py",),
    "aiohttp": ("llm/direct.py",),
    "orjson": ("stores/", "llm/direct.py"),
    "sqlalchemy": ("stores/", "runs/", "viz/data/"),
    "psycopg": ("stores/postgres.py",),
}
#: but not here: what is shown is worked out without a page
BUT = {"solara": ("viz/data/",)}


def met(path):
    """The packages that a file imports out of their place."""
    here, names = place(path), heads(path) & set(PLACES)
    return {
        name
        for name in names
        if not here.startswith(PLACES[name]) or here.startswith(BUT.get(name, ("//",)))
    }


def test_a_package_of_others_is_imported_in_its_own_place():
    found = {place(path): sorted(met(path)) for path in FILES}
    assert {file: names for file, names in found.items() if names} == {}
