"""Starts the service and the gateway, and sends the same request twice. The card is charged once.

Set ONEFOLD to the program if it is not on the PATH.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from pathlib import Path

HERE = Path(__file__).parent
SERVICE, GATEWAY = 8181, 7181


def until_listening(port):
    for _ in range(300):
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
    sys.exit(f"nobody listens on port {port}")


def charge(key, amount):
    request = urllib.request.Request(
        f"http://127.0.0.1:{GATEWAY}/charges",
        data=json.dumps({"amount": amount}).encode(),
        headers={"content-type": "application/json", "idempotency-key": key},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        replayed = answer.headers.get("idempotent-replayed") == "true"
        print(answer.status, answer.read().decode(), "replayed" if replayed else "performed")
        return replayed


def charged():
    with urllib.request.urlopen(f"http://127.0.0.1:{SERVICE}/", timeout=30) as answer:
        return json.load(answer)["charges"]


def main(folder):
    onefold = os.environ.get("ONEFOLD", "onefold")
    serve = [onefold, "serve", "--config", HERE / "onefold.toml", "--listen", "127.0.0.1:0", "--log", "error"]
    children = []
    try:
        children.append(subprocess.Popen([sys.executable, HERE / "service.py", str(SERVICE)]))
        database = ["--database", f"sqlite:{folder}/onefold.db"]
        children.append(subprocess.Popen([*serve, *database], stdout=subprocess.DEVNULL))
        until_listening(SERVICE)
        until_listening(GATEWAY)
        key = str(uuid.uuid4())
        replays = [charge(key, 4200), charge(key, 4200)]
        times = charged()
        print(f"sent twice, charged {times} time{'' if times == 1 else 's'}")
        return 0 if (replays, times) == ([False, True], 1) else 1
    finally:
        for child in reversed(children):
            child.terminate()
            child.wait()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(main(folder))
