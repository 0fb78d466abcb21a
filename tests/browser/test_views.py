"""The page in a real browser: what its views tell, how they look, and that it keeps to itself.

The accessible trees of the five views, and pictures of them, are compared with `golden/`; what the browser shows is in
`out/ui`. After a wanted change, copy the trees from there and remake the pictures:
``UNUM_WRITE_GOLDEN=1 .venv/bin/python -m pytest tests/browser -k golden``. A picture that differs is left in `out/ui`
beside one that marks the difference.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.conftest import PICTURES, Browser
from tests.browser.pictures import check_picture
from tests.unit.cli.ui.shop import Shop, Visitor, key_of, open_shop, served
from unum_runtime.model.checkpoint import Status

GOLDEN = Path(__file__).with_name("golden")
BRANCHES = 120


@pytest.fixture(scope="module")
def shop() -> Shop:
    return open_shop(wide=BRANCHES)


@pytest.fixture(scope="module")
def visitor(shop: Shop) -> Iterator[Visitor]:
    with served(shop, allow_changes=True) as found:
        yield found


@pytest.fixture
def at(browser: Browser, visitor: Visitor) -> Iterator["At"]:
    found = At(browser, visitor)
    found.enter()
    yield found
    seen = browser.do("seen")
    assert [url for url in seen["requests"] if not url.startswith(found.base)] == []
    assert seen["problems"] == []


class At:
    """The browser at a page."""

    def __init__(self, browser: Browser, visitor: Visitor) -> None:
        self.browser, self.visitor = browser, visitor
        self.base = f"http://127.0.0.1:{visitor.port}"

    def enter(self) -> None:
        self.browser.do("goto", self.visitor.site.secrets.url)
        self.browser.do("waitForURL", "**/Shop/orders/")

    def open(self, path: str) -> Browser:
        self.browser.do("goto", f"{self.base}/Shop/orders{path}")
        return self.browser

    def be_dark(self) -> None:
        self.browser.do("open", {"colorScheme": "dark", "reducedMotion": "reduce"})
        self.enter()

    def open_in_the_dark(self) -> Browser:
        """Open a failed execution without its stack trace, whose text depends on the folder and on Python's version."""
        self.be_dark()
        browser = self.open("/executions/failed")
        browser.do("evaluate", "document.querySelector('.facts pre').textContent = 'card is stolen'")
        return browser

    def tree(self, name: str) -> str:
        """Return the accessible tree, and leave it under the golden one's name."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        tree = self.browser.tree() + "\n"
        (PICTURES / f"{name}.yaml").write_text(tree, encoding="utf-8")
        return tree


@pytest.fixture(scope="module")
def views(shop: Shop) -> dict[str, str]:
    receive = key_of(shop, "wide", "Receive")
    return {
        "executions": "/",
        "execution": "/executions/caught",
        "step": f"/executions/retried/step?key={key_of(shop, 'retried', 'Charge')}",
        "branches": f"/executions/wide/branches?page=2&key={receive}",
        "versions": "/versions?old=done&new=deployed",
    }


@pytest.mark.parametrize("name", ["executions", "execution", "step", "branches", "versions"])
def test_a_view_tells_what_it_shows(at: At, views: dict[str, str], name: str) -> None:
    at.open(views[name])
    assert at.tree(name) == (GOLDEN / f"{name}.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["executions", "execution", "step", "branches", "versions"])
def test_a_view_looks_like_its_golden_picture(at: At, views: dict[str, str], name: str) -> None:
    at.open(views[name])
    check_picture(at.browser.picture(name), GOLDEN / f"{name}.png")


def test_a_failed_execution_in_the_dark_looks_like_its_golden_picture(at: At) -> None:
    browser = at.open_in_the_dark()
    check_picture(browser.picture("dark"), GOLDEN / "dark.png")


@pytest.mark.parametrize(
    ("name", "broken", "change"),
    [
        ("execution", "bar", "find('.bar .user-code', 1).x.baseVal.value += 8 * 1000 / find('.bar').clientWidth"),
        ("execution", "legend", "find('.legend').style.visibility = 'hidden'"),
        ("execution", "rows", "find('tbody > tr', 2).style.transform = 'translateY(-12px)'"),
        ("dark", "good", "find('.graph .failed').classList.replace('failed', 'succeeded')"),
        ("dark", "panel", "find('.graph').style.background = '#fff'"),
    ],
)
def test_what_looks_wrong_differs_from_the_golden_picture(
    at: At, views: dict[str, str], name: str, broken: str, change: str
) -> None:
    browser = at.open_in_the_dark() if name == "dark" else at.open(views[name])
    browser.do("evaluate", f"{{ const find = (css, at = 0) => document.querySelectorAll(css)[at]; {change}; }}")
    with pytest.raises(AssertionError, match="pixels differ"):
        check_picture(browser.picture(f"broken-{broken}"), GOLDEN / f"{name}.png", remake=False)


@pytest.mark.parametrize(
    ("execution", "status", "text"),
    [
        ("failed", "failed", "Charge"),
        ("caught", "caught", "Charge"),
        ("waiting", "waiting", "Approve"),
        ("retried", "succeeded", "Charge"),
    ],
)
def test_graph_and_rows_show_a_step_as_what_it_is(at: At, execution: str, status: str, text: str) -> None:
    browser = at.open(f"/executions/{execution}")
    graph = browser.do(
        "evaluate", f"[...document.querySelectorAll('.graph .{status} > .name')].map(e => e.textContent)"
    )
    rows = browser.do("evaluate", f"[...document.querySelectorAll('tr.{status} > th')].map(e => e.textContent.trim())")
    assert text in graph
    assert text in rows
    browser.picture(execution)


def test_a_cold_and_a_retried_step_are_told_in_words(at: At) -> None:
    ship = at.open("/executions/done").do("innerText", on="tr:has-text('Ship')")
    assert "cold start" in ship
    assert "queue 40 ms, cold start 200 ms, user code 300 ms" in ship
    charge = at.open("/executions/retried").do("innerText", on="tr:has-text('Charge')")
    assert "retried 2 times" in charge


def test_hostile_text_stays_text(at: At) -> None:
    browser = at.open("/executions/failed")
    assert "<script>alert(1)</script>" in browser.do("innerText", on="main")
    assert browser.do("evaluate", "document.querySelectorAll('main script').length") == 0


def test_no_script_of_others_runs(browser: Browser, visitor: Visitor) -> None:
    """Even markup that came in would run nothing, and could tell nobody."""
    At(browser, visitor).enter()
    inject = "const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s);"
    assert browser.do("evaluate", f"(() => {{ {inject} return window.ran ?? 0; }})()") == 0
    assert browser.do("evaluate", "fetch('http://127.0.0.2:9/').then(() => 'sent', () => 'refused')") == "refused"
    assert "Content Security Policy" in " ".join(browser.do("seen")["problems"])


def test_no_other_profile_gets_in(browser: Browser, visitor: Visitor) -> None:
    browser.do("goto", f"http://127.0.0.1:{visitor.port}/Shop/orders/")
    assert "Open the URL" in browser.do("innerText", on="body")


def test_it_works_with_a_keyboard(at: At) -> None:
    browser = at.open("/executions/caught")
    browser.do("press", "Tab")
    assert browser.do("evaluate", "document.activeElement.textContent") == "Skip to content"
    browser.do("press", "Enter")
    reached = []
    for _ in range(12):
        browser.do("press", "Tab")
        reached.append(browser.do("evaluate", "document.activeElement.textContent.trim() || document.activeElement.id"))
        if reached[-1] == "Receive":
            break
    assert reached[:2] == ["Fork…", "Delete…"]
    assert browser.do("evaluate", "getComputedStyle(document.activeElement).outlineStyle") == "solid"
    browser.do("press", "Enter")
    browser.do("waitForURL", "**/step?**")
    assert browser.do("innerText", on="h1").startswith("Receive")


def test_it_is_dark_for_whom_asks(at: At) -> None:
    at.be_dark()
    browser = at.open("/executions/caught")
    assert browser.do("evaluate", "getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 28)"


def test_a_running_execution_is_followed_and_can_be_stopped(browser: Browser) -> None:
    shop = open_shop()
    with served(shop, allow_changes=True) as visitor:
        at = At(browser, visitor)
        at.enter()
        at.open("/executions/waiting")
        browser.do("focus", on="text=Stop…")
        shop.client.send_task_success(shop.tokens[-1], '"me"')
        shop.deliver(shop.platform.sent.pop(0))
        browser.do("waitForSelector", "tr.running")  # the event after it
        assert browser.do("evaluate", "document.activeElement.textContent") == "Stop…"
        browser.do("click", on="text=Stop…")
        browser.picture("stop")
        browser.do("fill", "Too late", on="[name=cause]")
        browser.do("click", on="form button")
        browser.do("waitForSelector", "text=Stopped at")
        assert browser.do("seen")["problems"] == []
        assert shop.client.describe("waiting").status is Status.ABORTED
        assert shop.client.describe("waiting").cause == "Too late"
