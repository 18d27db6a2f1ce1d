"""`python -m bench.console_page`: what a kind with many objects and many changes costs the console's page.

Chromium shows the kind for some seconds. One JSON line comes out: the seconds to the complete table, events sent and
frames drawn a second, the median and the 99th percentile of the delay from an event's sending to its row, the share
of a CPU that the page's main thread took, and its tasks of 50 ms and longer, by the clock and by CPU time, which a
busy machine does not change. It takes chromium, chromedriver and selenium.
"""

from __future__ import annotations

import argparse
import json
import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from bench.console_stub import Feed, serve

LONG_US: Final = 50_000
_CHROMIUM_FLAGS: Final = (
    *("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "window-size=1280,800"),
)
_WATCHED: Final = """
    const seen = window.seen = { frames: 0, delays: [], began: performance.now() };
    let before = "";
    const look = () => {
        seen.frames++;
        const status = document.querySelector("[data-index='0'] .cell:nth-child(4)")?.textContent || "";
        if (status !== before && Number(status)) seen.delays.push(Date.now() - Number(status));
        before = status;
        requestAnimationFrame(look);
    };
    look();
"""
_COUNT: Final = "return document.querySelector('.count')?.textContent.replaceAll(',', '')"
_SORT: Final = """
    const headings = [...document.querySelectorAll(".head button")];
    headings.find((each) => each.textContent === arguments[0]).click();
"""
_DRAWN: Final = "return document.querySelectorAll('.row').length"


def measured(objects: int, rate: int, seconds: float, click: str) -> dict[str, Any]:
    """Show a kind of so many objects for some seconds, sorted by a column if one is given; return the figures."""
    feed = Feed(objects, rate)
    server = serve(feed)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    driver = _browser()
    try:
        driver.get(f"http://127.0.0.1:{server.server_port}/console/")
        began = time.monotonic()
        driver.execute_script("location.hash = 'pods.v1.'")
        while int(driver.execute_script(_COUNT) or 0) < objects:
            time.sleep(0.02)
        complete = time.monotonic() - began
        if click:
            driver.execute_script(_SORT, click)
        driver.execute_script(_WATCHED)
        sent = feed.sent
        time.sleep(seconds)
        seen = driver.execute_script("return { ...seen, seconds: (performance.now() - seen.began) / 1000 }")
        sent = feed.sent - sent
        drawn = driver.execute_script(_DRAWN)
        log = driver.get_log("performance")
    finally:
        driver.quit()
        server.shutdown()
    delays = sorted(seen["delays"])
    return {
        "objects": objects, "complete_s": round(complete, 2), "rows_drawn": drawn,
        "sent_per_s": round(sent / seen["seconds"]), "frames_per_s": round(seen["frames"] / seen["seconds"], 1),
        "delay_ms": [delays[int(len(delays) * part)] for part in (0.5, 0.99)] if delays else [],
        **_tasks(log, complete + seen["seconds"]),
    }  # fmt: skip


def _browser() -> Any:
    """Return a headless Chromium that traces the tasks of its pages."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for each in _CHROMIUM_FLAGS:
        options.add_argument(f"--{each}")
    options.binary_location = shutil.which("chromium") or ""
    options.set_capability("goog:loggingPrefs", {"performance": "ALL"})
    tracing = {"traceCategories": "toplevel", "enableNetwork": False}
    options.add_experimental_option("perfLoggingPrefs", tracing)
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def _tasks(log: Sequence[Mapping[str, str]], seconds: float) -> dict[str, Any]:
    """Return the figures of the main thread's tasks."""
    events = [json.loads(entry["message"])["message"] for entry in log]
    traced = [each["params"] for each in events if each["method"] == "Tracing.dataCollected"]
    names = [each for each in traced if each["name"] == "thread_name" and each["args"]["name"] == "CrRendererMain"]
    threads = {(each["pid"], each["tid"]) for each in names}
    tasks = [e for e in traced if e["name"].endswith("RunTask") and (e["pid"], e["tid"]) in threads]
    long = [e for e in tasks if e.get("dur", 0) >= LONG_US]
    return {
        "main_cpu_share": round(sum(e.get("tdur", 0) for e in tasks) / 1e6 / seconds, 2),
        "long_tasks": len(long),
        "long_tasks_by_cpu": sum(e.get("tdur", 0) >= LONG_US for e in long),
        "longest_ms": round(max((e.get("dur", 0) for e in tasks), default=0) / 1000),
        "longest_cpu_ms": round(max((e.get("tdur", 0) for e in tasks), default=0) / 1000),
    }


def main() -> None:
    """Measure, and print the line."""
    parser = argparse.ArgumentParser("python -m bench.console_page")
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--sort", default="", metavar="COLUMN")
    given = parser.parse_args()
    print(json.dumps(measured(given.objects, given.rate, given.seconds, given.sort)))


if __name__ == "__main__":
    main()
