// A service that charges a card. It is not idempotent: each request charges again.

import { createServer } from "node:http";

const charges = [];

function answer(response, status, value) {
  const body = JSON.stringify(value);
  response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  response.end(body);
}

const service = createServer((request, response) => {
  if (request.method !== "POST") return answer(response, 200, { charges: charges.length });
  let text = "";
  request.setEncoding("utf8");
  request.on("data", (part) => (text += part));
  request.on("end", () => {
    const charge = { charge: `CH-${charges.length + 1}`, amount: JSON.parse(text).amount };
    charges.push(charge);
    answer(response, 201, charge);
  });
});

service.listen(Number(process.argv[2]), "127.0.0.1");
