"""Pages are shown by their own host names only, and only with their token."""

import http.client
from urllib.parse import urlsplit

import pytest

from mesa_memory.viz.serving.server import listen
from tests.support.browser import at, opener
from tests.support.dashboards import dashboard
from tests.support.page_client import answer

SOCKET = {
    "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}  # fmt: skip


#: a page is started for each
OTHERS = [pytest.param(host, marks=pytest.mark.slow) for host in ("127.0.0.2", "::1")]


@pytest.fixture(scope="module", params=["127.0.0.1", *OTHERS])
def address(request, file):
    try:
        listen(request.param, 0).listening.close()
    except OSError:
        pytest.skip(f"this machine has no {request.param}")
    with dashboard(file, "--host", request.param) as address:
        yield address


def status(address, path, **headers):
    """The status of an answer, and its own headers."""
    place = urlsplit(address)
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=60)
    connection.request("GET", path, headers={"Host": place.netloc} | headers)
    answer = connection.getresponse()
    connection.close()
    return answer.status, answer.headers


def test_the_page_is_shown_with_its_token_and_then_with_a_cookie(address):
    place = urlsplit(address)
    code, headers = status(address, f"/?view=agent&{place.query}&step=2")
    assert (code, headers["Location"]) == (303, "./?view=agent&step=2")
    cookie, *rest = headers["Set-Cookie"].split("; ")
    assert "HttpOnly" in rest and "SameSite=lax" in rest
    for path in ("/", "/readyz", "/?step=1"):
        assert status(address, path, Cookie=f"other=1; {cookie}")[0] == 200
    own = {"Origin": f"http://{place.netloc}", "Cookie": cookie}
    assert (
        status(address, "/jupyter/api/kernels/k/ws?session_id=p", **SOCKET, **own)[0]
        == 101
    )
    assert b"solara" in opener().open(at(address, "?view=agent")).read()


def test_nothing_is_shown_without_the_token(address):
    for given in ["", "token=", "token=wrong", "token=é", "Token=x"]:
        for path in ["/", "/readyz", "/static/main.js", "//elsewhere/"]:
            wrong = {"Cookie": f"mesa-memory-{urlsplit(address).port}=wrong"}
            quoted = given.replace("é", "%C3%A9")
            assert status(address, f"{path}?{quoted}", **wrong)[0] == 403


def test_a_socket_needs_the_token_too(address):
    own = {"Origin": f"http://{urlsplit(address).netloc}"}
    code, _ = status(address, "/jupyter/api/kernels/k/ws?session_id=p", **SOCKET, **own)
    assert code == 403


def test_localhost_is_as_good_as_the_address(address):
    name = f"http://localhost:{urlsplit(address).port}"
    assert answer(address, name, host=name) == 101


def test_the_token_leads_to_no_other_site(address):
    code, headers = status(address, f"//evil.example/?{urlsplit(address).query}")
    assert code == 303 and headers["Location"] == "./"


def test_other_host_names_are_refused(address):
    query, port = urlsplit(address).query, urlsplit(address).port
    for name in (
        "evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "[::1", "",
        "evil.example:127.0.0.1", "192.168.1.7",
    ):  # fmt: skip
        assert status(address, f"/?{query}", Host=name)[0] == 400
    for own in (
        "127.0.0.1",
        "LOCALHOST",
        f"localhost:{port}",
        "[::1]",
        f"[::1]:{port}",
    ):
        assert status(address, f"/?{query}", Host=own)[0] == 303


@pytest.mark.parametrize("host", ["0.0.0.0", "", "::"])
def test_a_server_for_all_machines_is_asked_by_every_name(host):
    place = listen(host, 0)
    place.listening.close()
    assert place.names == frozenset()


def test_each_server_has_a_token_of_its_own():
    places = [listen(port=0) for _ in range(2)]
    assert places[0].token != places[1].token and len(places[0].token) >= 32
    assert not any(place.token in repr(place) for place in places)
    for place in places:
        place.listening.close()
