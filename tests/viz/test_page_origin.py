"""Which pages may talk to the server of a run: its own, and no other one."""

import http.client
from urllib.parse import urlsplit

import pytest

from tests.support.dashboards import command, live_pages
from tests.support.page_client import admitted, answer, opened, own_origin, read

pytestmark = pytest.mark.slow
EVIL = "http://evil.example"


@pytest.fixture(scope="module")
def explorer(file):
    with command("dashboard", file) as base:
        yield base


@pytest.fixture(scope="module")
def demo():
    with command("demo", "--agents", "3", "--steps", "1") as base:
        yield base


def of_others(base):
    """Origins that are not the page's own, and look like it."""
    own, port = own_origin(base), urlsplit(base).port
    return [
        None, EVIL, f"{EVIL}:{port}", "null", "", f"http://127.0.0.1:{port + 1}",
        "http://127.0.0.1", f"http://127.0.0.1:{port}.evil.example",
        f"http://127.0.0.1:{port}@evil.example", f"http://localhost:{port}",
        "file://", f"{own}:80", "http://[", f"x{own}",
    ]  # fmt: skip


@pytest.mark.parametrize("server", ["explorer", "demo"])
def test_only_the_pages_own_origin_opens_its_socket(server, request):
    base = request.getfixturevalue(server)
    assert answer(base, own_origin(base)) == 101
    refused = {origin: answer(base, origin) for origin in of_others(base)}
    assert set(refused.values()) == {403}, refused


def test_a_server_for_others_lets_in_the_origin_that_it_is_called_by(file):
    with command("dashboard", file, "--host", "0.0.0.0") as base:
        port = urlsplit(base).port
        here = base.replace("0.0.0.0", "127.0.0.1")
        named = f"http://lab.example:{port}"
        assert answer(here, own_origin(here)) == 101
        assert answer(here, named, host=named) == 101
        assert answer(here, "https://lab.example", host="https://lab.example") == 101
        assert answer(here, EVIL) == answer(here, None) == answer(here, named) == 403


def ask(base, method, path, **headers):
    connection = http.client.HTTPConnection(urlsplit(base).netloc, timeout=600)
    connection.request(method, path, headers=admitted(base) | headers)
    answered = connection.getresponse()
    answered.read()
    connection.close()
    return answered.status, answered.headers


@pytest.mark.parametrize("server", ["explorer", "demo"])
def test_no_foreign_page_reads_closes_or_frames_anything(server, request):
    base = request.getfixturevalue(server)
    close = "/_solara/api/close/some?session_id=page"
    for method, path in [
        ("GET", "/"), ("GET", "/resourcez"), ("GET", "/static/main.js"),
        ("POST", close), ("GET", "/jupyter/api/kernels/some"),
    ]:  # fmt: skip
        assert ask(base, method, path, Origin=EVIL)[0] == 403, path
        for own in ({}, {"Origin": own_origin(base)}):
            status, told = ask(base, method, path, **own)
            assert status != 403, path
            assert "access-control-allow-origin" not in told
            assert "frame-ancestors 'self'" in told["content-security-policy"], path


def test_a_page_of_ours_under_solara_run_shows_a_foreign_page_nothing():
    with live_pages() as base:
        base = base.replace("localhost", "127.0.0.1")
        control, memory = "Milliseconds between steps", "No step is finished yet"
        with opened(base, base) as own:
            said = read(own, "/minds", '"finished"')
            assert control in said
            assert memory in said
        for origin in (EVIL, f"http://127.0.0.1:{urlsplit(base).port + 1}", None):
            with opened(base, origin) as foreign:
                said = read(foreign, "/minds", '"finished"')
                assert "another page" in said
                assert control not in said
                assert memory not in said
            with opened(base, origin) as foreign:  # the component in Mesa's own page
                said = read(foreign, "/", '"finished"')
                assert "another page" in said
                assert memory not in said
