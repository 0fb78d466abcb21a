"""Attacks on the page: each fails on the page as it is, and succeeds where the one guard against it is missing."""

import re
import time
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from starlette.responses import HTMLResponse
from starlette.routing import Route

from tests.unit.cli.ui.shop import HOSTILE, Shop, Visitor, open_shop, served
from unum_cli.ui import guard, operations, page_server, site
from unum_cli.ui.guard import HOST, Guard, OneTimeCode, Secrets
from unum_cli.ui.operations import Operations
from unum_cli.ui.page_server import open_socket
from unum_runtime.model.checkpoint import Status

EVIL = "evil.example"
STOP = "/Shop/orders/executions/waiting/stop"
PAGE = "/Shop/orders/executions/failed"


def is_stopped(shop: Shop) -> bool:
    return shop.client.describe("waiting").status is Status.ABORTED


def rebind(_: Shop, visitor: Visitor) -> bool:
    """A hostile name that resolves to this machine: same origin for its own site."""
    return visitor.ask(PAGE, Host=f"{EVIL}:{visitor.port}").status == 200


def come_without_the_secret(_: Shop, visitor: Visitor) -> bool:
    visitor.cookie = ""
    found = [
        visitor.ask(PAGE),
        visitor.ask("/?token="),
        visitor.ask("/?token=guessed"),
        visitor.ask("/assets/page.css"),
    ]
    visitor.cookie = f"unum-{visitor.port}=guessed"
    return any(answer.status == 200 for answer in [*found, visitor.ask(PAGE)])


def post_from_another_site(shop: Shop, visitor: Visitor) -> bool:
    body = f"csrf={visitor.site.secrets.csrf}"
    visitor.ask(STOP, method="POST", body=body, Origin=f"http://{EVIL}")
    return is_stopped(shop)


def post_without_the_form_s_secret(shop: Shop, visitor: Visitor) -> bool:
    visitor.send(STOP, csrf="")
    visitor.send(STOP, csrf="guessed")
    return is_stopped(shop)


def change_by_loading_a_picture(shop: Shop, visitor: Visitor) -> bool:
    """An image of another site whose address is that of an operation."""
    visitor.ask(f"{STOP}?csrf={visitor.site.secrets.csrf}")
    return is_stopped(shop)


def put_markup_into_data(_: Shop, visitor: Visitor) -> bool:
    return any(HOSTILE[:8] in visitor.ask(path).text for path in (PAGE, f"/Shop/orders/?name={HOSTILE[:8]}"))


def put_scripts_inline(_: Shop, visitor: Visitor) -> bool:
    policy = visitor.ask(PAGE).headers.get("content-security-policy", "")
    return "default-src 'none'; script-src 'self';" not in policy or "unsafe" in policy


def frame_the_page(_: Shop, visitor: Visitor) -> bool:
    return "frame-ancestors 'none'" not in visitor.ask(PAGE).headers.get("content-security-policy", "")


def read_the_cookie(_: Shop, visitor: Visitor) -> bool:
    given = visitor.ask(f"/?token={visitor.site.secrets.token}").headers["set-cookie"].lower()
    return not {"httponly", "samesite=strict"} <= set(given.split("; "))


def read_the_browser_s_arguments(_: Shop, visitor: Visitor) -> bool:
    """Every user of the machine sees the arguments of its processes."""
    with browser_of(visitor) as arguments:
        found = re.search(r"(?:code|token)=[\w-]+", " ".join(arguments))
    return found is not None and visitor.ask(f"/?{found[0]}").status == 200


def read_the_browser_s_page(_: Shop, visitor: Visitor) -> bool:
    with browser_of(visitor) as (address,):
        page = Path(unquote(urlsplit(address).path))
        modes = [path.stat().st_mode & 0o077 for path in (page, page.parent)]
        (link,) = re.findall(r'href="http://[^/]+(/[^"]+)"', page.read_text())
        assert visitor.ask(link).status == 200
    return any(modes) or page.exists()


def enter_with_a_used_code(_: Shop, visitor: Visitor) -> bool:
    """Open the page with a code from the browser's history."""
    code = code_of(visitor).value
    assert visitor.ask(f"/?code={code}").status == 200
    return visitor.ask(f"/?code={code}").status == 200


def enter_with_an_old_code(_: Shop, visitor: Visitor) -> bool:
    code = code_of(visitor)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code, "_clock_s", lambda: time.monotonic() + guard.LASTS_S)
        return visitor.ask(f"/?code={code.value}").status == 200


def enter_with_a_guessed_code(_: Shop, visitor: Visitor) -> bool:
    return any(visitor.ask(f"/?code={guess}").status == 200 for guess in ("", "None", "guessed"))


def code_of(visitor: Visitor) -> OneTimeCode:
    visitor.cookie = ""
    code = visitor.site.secrets.code
    assert code is not None
    return code


@contextmanager
def browser_of(visitor: Visitor) -> Iterator[list[str]]:
    """Open the page as ``--open`` does, and yield the arguments of the browser."""
    arguments: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(webbrowser, "open", arguments.append)
        with guard.opened(visitor.site.secrets.url_with(code_of(visitor))):
            yield arguments


def keep_no_host(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Secrets, "hosts", property(lambda self: {f"{HOST}:{self.port}", f"{EVIL}:{self.port}"}))


def keep_no_origin(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Secrets, "origins", property(lambda _self: {f"http://{EVIL}"}))


def perform_on_get(patch: pytest.MonkeyPatch) -> None:
    def carry_out(self: Operations, request: Any) -> Any:
        operation, place, name = self._asked(request)
        operation.perform(place.client, name, {})
        return self.site.render("done.html", place=place, operation=operation, lines=[], path="/")

    patch.setattr(Operations, "ask", carry_out)


def set_a_plain_cookie(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        HTMLResponse,
        "set_cookie",
        lambda self, key, value, **_: self.headers.append("set-cookie", f"{key}={value}"),
    )


def give_the_url(patch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def opened(url: str) -> Iterator[None]:
        webbrowser.open(url)
        yield

    patch.setattr(guard, "opened", opened)


ATTACKS: Mapping[Callable[[Shop, Visitor], bool], Callable[[pytest.MonkeyPatch], None]] = {
    rebind: keep_no_host,
    come_without_the_secret: lambda patch: patch.setattr(Guard, "_is_own", lambda *_: True),
    post_from_another_site: keep_no_origin,
    post_without_the_form_s_secret: lambda patch: patch.setattr(operations, "is_form_of", lambda *_: True),
    change_by_loading_a_picture: perform_on_get,
    put_markup_into_data: lambda patch: patch.setattr(site._TEMPLATES, "autoescape", False),
    put_scripts_inline: lambda patch: patch.setattr(guard, "_POLICY", {}),
    frame_the_page: lambda patch: patch.setattr(guard, "_POLICY", {}),
    read_the_cookie: set_a_plain_cookie,
    read_the_browser_s_arguments: give_the_url,
    read_the_browser_s_page: lambda patch: patch.setattr(guard, "_MODE", 0o644),
    enter_with_a_used_code: lambda patch: patch.setattr(OneTimeCode, "_is_good", lambda *_: True),
    enter_with_an_old_code: lambda patch: patch.setattr(OneTimeCode, "_is_good", lambda self: not self._is_used),
    enter_with_a_guessed_code: lambda patch: patch.setattr(guard, "compare_digest", lambda *_: True),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_fails(attack: Callable[[Shop, Visitor], bool], owner: tuple[Shop, Visitor]) -> None:
    assert attack(*owner) is False


@pytest.mark.parametrize("attack", ATTACKS)
def test_it_succeeds_without_the_guard_against_it(
    attack: Callable[[Shop, Visitor], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    site._TEMPLATES.cache.clear()
    ATTACKS[attack](monkeypatch)
    shop = open_shop()
    with served(shop, allow_changes=True) as visitor:
        succeeded = attack(shop, visitor.enter())
    site._TEMPLATES.cache.clear()
    assert succeeded


def test_only_this_machine_can_connect() -> None:
    with open_socket(0) as bound:
        assert bound.getsockname()[0] == HOST == "127.0.0.1"


def test_a_page_that_only_shows_has_no_path_that_changes(shop: Shop, visitor: Visitor) -> None:
    app = page_server.application(visitor.site)
    assert {method for route in app.routes if isinstance(route, Route) for method in route.methods or ()} == {
        "GET",
        "HEAD",
    }
    assert visitor.send(STOP).status == 404
    assert visitor.ask(STOP).status == 404
    assert not is_stopped(shop)
    assert "Stop…" not in visitor.ask("/Shop/orders/executions/waiting").text


def test_nobody_sees_the_secret_again(visitor: Visitor) -> None:
    secrets = visitor.site.secrets
    assert secrets.token not in repr(secrets)
    answer = visitor.ask(f"/?token={secrets.token}")
    assert secrets.token not in answer.text
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(visitor: Visitor, method: str) -> None:
    assert visitor.ask(PAGE, method=method).status in (403, 405)


def test_a_large_form_is_refused(owner: tuple[Shop, Visitor], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "LARGEST_FORM", 1_000)
    _, visitor = owner
    assert visitor.send("/Shop/orders/start", input=" " * 1_000).status == 413


def test_an_asset_is_a_file_of_the_page(visitor: Visitor) -> None:
    assert visitor.ask("/assets/page.css").headers["content-type"].startswith("text/css")
    assert visitor.ask("/assets/dagre.js").headers["content-type"].startswith("text/javascript")
    for name in ("..%2Fsite.py", "%2e%2e%2fsite.py", "site.py", "vendor", ".", "%2Fetc%2Fpasswd"):
        assert visitor.ask(f"/assets/{name}").status in (404, 403)
