"""Base of the tests of the console: a server and a headless Chromium that outlive a test."""

from __future__ import annotations

import atexit
import shutil
import time
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar
from unittest import skipUnless

from twisted.trial.unittest import SynchronousTestCase

from orchtw.testing import ApiServer

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
PATIENCE_S = 60.0
MAPS = "/api/v1/namespaces/default/configmaps"
T = TypeVar("T")


def browser() -> Any:
    """A headless Chromium that trusts the server's certificate."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for each in ("headless=new", "no-sandbox", "ignore-certificate-errors", "disable-gpu", "disable-dev-shm-usage"):
        options.add_argument(f"--{each}")
    options.add_argument("--window-size=1280,800")
    options.binary_location = CHROMIUM or ""
    return webdriver.Chrome(options=options, service=Service(DRIVER))


@cache
def shared() -> tuple[ApiServer, Any]:
    """The server and the browser, which end with this process."""
    server = ApiServer(flags=("--console",)).start()
    atexit.register(server.stop)
    driver = browser()
    atexit.register(driver.quit)
    return server, driver


@skipUnless(CHROMIUM and DRIVER, "chromium and chromedriver are not on the PATH")
class ConsoleCase(SynchronousTestCase):
    """One server and one browser for all tests of a process; each test loads the page anew."""

    def setUp(self) -> None:
        self.server, self.driver = shared()
        self.server.reset()
        self.driver.get("about:blank")
        self.driver.get(f"{self.server.url}/console/")

    def run_script(self, script: str, *arguments: object) -> Any:
        """The result of a function body in the page."""
        return self.driver.execute_script(script, *arguments)

    def until(self, look: Callable[[], T]) -> T:
        """The first true result of `look`."""
        end = time.monotonic() + PATIENCE_S
        while not (found := look()):
            if time.monotonic() > end:
                self.fail(f"not in time: {self.text('body')}")
            time.sleep(0.05)
        return found

    def text(self, selector: str = "#view") -> str:
        """The visible text of an element."""
        return str(self.run_script("return document.querySelector(arguments[0])?.innerText || ''", selector))

    def shows(self, *texts: str, selector: str = "#view") -> None:
        """Wait until an element shows all these texts."""
        self.until(lambda: all(each in self.text(selector) for each in texts))

    def click(self, label: str) -> None:
        """Click the button or link that begins with a text, as soon as there is one."""
        script = """
            const scope = document.querySelector("dialog[open]") || document;
            const found = [...scope.querySelectorAll("button, a")].find((each) =>
                each.offsetParent && each.innerText.startsWith(arguments[0]));
            found?.click();
            return Boolean(found);
        """
        self.until(lambda: self.run_script(script, label))

    def press(self, *keys: str) -> None:
        """Press keys, wherever the focus is."""
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def go(self, place: str) -> None:
        """Go to an address behind the #."""
        self.run_script("location.hash = arguments[0]", place)

    def sign_in(self, token: str) -> None:
        """Sign in with a token."""
        from selenium.webdriver.common.by import By

        self.until(lambda: self.driver.find_elements(By.CSS_SELECTOR, ".sign-in input"))
        self.driver.find_element(By.CSS_SELECTOR, ".sign-in input").send_keys(token + "\n")

    def as_admin(self, place: str = "") -> None:
        """Sign in as the administrator, and go to a place."""
        self.sign_in(self.server.token)
        self.shows("ConfigMap", selector="#tree")
        if place:
            self.go(place)

    def create(self, name: str, **content: Any) -> Any:
        """Create a config map."""
        meta = {"name": name, **content.pop("metadata", {})}
        return self.server.request("POST", MAPS, {"metadata": meta, **content}).checked("create").json

    def in_page(self, script: str) -> Any:
        """Run an asynchronous function body in the page; returns the result that it passes to `finish`."""
        self.driver.set_script_timeout(PATIENCE_S)
        return self.driver.execute_async_script(f"const finish = arguments[0]; {script}")
