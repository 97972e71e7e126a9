"""Chromium without a screen, by chromedriver and its own protocol (W3C WebDriver)."""

import json
import re
import shutil
import subprocess
import urllib.error
import urllib.request

SKIPPED = 77  # exit code of a check that cannot be made here


def is_installed():
    return bool(shutil.which("chromium") and shutil.which("chromedriver"))


class Browser:
    def __init__(self, profile, window):
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True
        )
        port = None
        for line in self.driver.stdout:
            match = re.search(r"started successfully on port (\d+)", line)
            if match:
                port = match.group(1)
                break
        if port is None:
            raise RuntimeError("chromedriver does not start")
        self.base = f"http://127.0.0.1:{port}"
        options = {
            "binary": shutil.which("chromium"),
            "args": [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                f"--window-size={window}", "--disable-background-networking",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # do without a network
                f"--user-data-dir={profile}",
            ],
        }
        capabilities = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
        self.session = "/session/" + session["sessionId"]

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.base + path, data, {"Content-Type": "application/json"}, method=method
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=100) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{path}: {error.read().decode()[:2000]}") from error

    def post(self, path, body):
        return self.call("POST", self.session + path, body)

    def run(self, script):
        return self.post("/execute/sync", {"script": script, "args": []})

    def pointer(self, actions):
        mouse = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}}
        self.post("/actions", {"actions": [{**mouse, "actions": actions}]})

    def wheel(self, x, y, delta):
        self.post("/actions", {"actions": [{"type": "wheel", "id": "wheel", "actions": [
            {"type": "scroll", "x": x, "y": y, "deltaX": 0, "deltaY": delta}
        ]}]})

    def after_frame(self):
        """Waits until what was asked for has been drawn."""
        self.post("/execute/async", {"args": [], "script":
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done));"})

    def close(self):
        try:
            self.call("DELETE", self.session)
        except (RuntimeError, AttributeError, OSError):
            pass
        self.driver.terminate()
        self.driver.wait()
