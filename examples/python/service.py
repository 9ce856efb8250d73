"""A service that charges a card. It is not idempotent: each request charges again."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

numbers = count(1)
charges = []


class Charges(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        order = json.loads(self.rfile.read(int(self.headers["content-length"])))
        charge = {"charge": f"CH-{next(numbers)}", "amount": order["amount"]}
        charges.append(charge)
        self.answer(201, charge)

    def do_GET(self):
        self.answer(200, {"charges": len(charges)})

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Charges).serve_forever()
