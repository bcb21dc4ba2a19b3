"""The shell and its files over HTTP: headers, caching, other roots, bad requests."""

from __future__ import annotations

import gzip

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from rushes.web import pages, static


@pytest.fixture(params=["", "/x"])
def browser(request: pytest.FixtureRequest) -> TestClient:
    application = Starlette()
    pages.install(application)
    return TestClient(application, root_path=request.param)


@pytest.mark.parametrize("path", [path.replace("{id}", "1") for path in pages.PATHS])
def test_every_address_of_the_page_is_the_same_shell(browser: TestClient, path: str):
    answer = browser.get(path)

    assert (answer.status_code, answer.text) == (200, browser.get("/").text)
    assert answer.headers["cache-control"] == "no-cache"
    assert browser.get(path, headers={"If-None-Match": answer.headers["etag"]}).status_code == 304


def test_policy_lets_in_nothing_from_elsewhere_and_nothing_inline(browser: TestClient):
    """B-HTTP-13, B-OCR-1: a text that became markup could still not run."""
    policy = dict(
        part.split(" ", 1)
        for part in browser.get("/").headers["content-security-policy"].split("; ")
    )

    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["object-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert not [value for value in policy.values() if "unsafe" in value or "http" in value]


def test_files_are_kept_for_ever_and_sent_packed(browser: TestClient):
    path = f"/static/{static.files().tag}/main.js"

    plain = browser.get(path, headers={"Accept-Encoding": "identity"})
    packed = browser.get(path)

    assert "immutable" in plain.headers["cache-control"]
    assert plain.headers["content-type"].startswith("text/javascript")
    assert plain.content == packed.content == static.files().by_name["main.js"].body
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(static.files().by_name["main.js"].packed or b"") == plain.content


@pytest.mark.parametrize("name", ["nothing.js", "../pages.py", "%2e%2e/pages.py", ""])
def test_nothing_else_is_served(browser: TestClient, name: str):
    with pytest.raises(Exception, match="no such file"):
        browser.get(f"/static/{static.files().tag}/{name or 'x'}")


def test_shell_names_its_files_below_the_root(browser: TestClient):
    text, root = browser.get("/").text, browser._transport.root_path  # type: ignore[attr-defined]

    assert f'data-root="{root}"' in text
    assert f'src="{root}/static/{static.files().tag}/main.js"' in text
    assert text.count("<script") == 2
    assert text.count("src=") == 2  # none of the two is inline
