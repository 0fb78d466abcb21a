"""Processor time of the page for a Map of many branches: the server's, and that of all of Chromium's processes.

python -m benchmarks.page [--branches 2000] [--pictures FOLDER]

The page is served in this process over a store in memory, and a new Chromium opens the views. A view has painted its
graph or bars when its time is taken. The fastest of some runs counts, since other load adds to all of them.
"""

import argparse
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.browser.conftest import Browser, start_browser
from tests.unit.cli.ui.shop import Shop, key_of, open_shop, served

RUNS = 3
BRANCHES, BOUND_S = 2_000, 2.0
"""Most processor seconds of server and browser together for one view of a Map of so many branches."""
TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure and print; exit with 1 if a Map of up to 2,000 takes longer than the bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--branches", type=int, default=BRANCHES)
    parser.add_argument("--pictures", type=Path, help="folder for a picture of each view")
    options = parser.parse_args()
    shop = open_shop(wide=options.branches)
    rounds = [_measure(shop, options.branches, options.pictures) for _ in range(RUNS)]
    slowest = 0.0
    for name in rounds[0]:
        server_s, browser_s = min((each[name] for each in rounds), key=sum)
        both_s = server_s + browser_s
        print(f"{name:<12} server {server_s:>6.2f} s   browser {browser_s:>6.2f} s   together {both_s:>6.2f} s")
        slowest = max(slowest, both_s)
    if options.branches <= BRANCHES and slowest > BOUND_S:
        raise SystemExit(f"A view takes {slowest:.2f} s of processor time; the bound is {BOUND_S:.2f} s.")


def _measure(shop: Shop, branches: int, pictures: Path | None) -> dict[str, tuple[float, float]]:
    """Return the server's and the browser's processor seconds by view, with a browser of its own."""
    found = {}
    key = key_of(shop, "wide", "Receive")
    wide = "/Shop/orders/executions/wide"
    views = {
        "execution": (wide, "#graph svg"),
        "branches": (f"{wide}/branches?page={branches // 100}&key={key}", "svg.bar"),
        "branch": (f"{wide}/branch?key={key}&index={branches - 1}", "svg.bar"),
    }
    with served(shop) as visitor, TemporaryDirectory() as folder, start_browser(Path(folder)) as process:
        browser = Browser(process)
        browser.do("open", {"reducedMotion": "reduce"})
        browser.do("goto", visitor.site.secrets.url)
        for name, (path, painted) in views.items():
            server, client = time.process_time(), _cpu_s(process.pid)
            browser.do("goto", f"http://127.0.0.1:{visitor.port}{path}")
            browser.do("waitForSelector", painted)
            browser.do("evaluate", "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
            found[name] = (time.process_time() - server, _cpu_s(process.pid) - client)
            if pictures:
                pictures.mkdir(parents=True, exist_ok=True)
                picture = {"path": str(pictures / f"{name}-{branches}.png"), "fullPage": True}
                browser.do("screenshot", picture)
    return found


def _cpu_s(driver: int) -> float:
    """Return the processor seconds of all processes that the driver started, those that have ended included."""
    statistics = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "stat").read_text()
        except OSError:  # it has just ended
            continue
        fields = text.rpartition(")")[2].split()
        statistics[int(folder.name)] = (int(fields[1]), sum(map(int, fields[11:15])))
    tree, ticks = {driver}, 0
    while added := {pid for pid, (parent, _) in statistics.items() if parent in tree} - tree:
        tree |= added
        ticks += sum(statistics[pid][1] for pid in added)
    return ticks / TICKS


if __name__ == "__main__":
    main()
