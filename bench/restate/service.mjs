// A service with one durable step: it posts what it was asked for to the upstream, and answers what that answered.
//
// node service.mjs PORT UPSTREAM

import "./resolvers.mjs";
import http from "node:http";
import http2 from "node:http2";
import * as restate from "@restatedev/restate-sdk";

const [port, upstream] = process.argv.slice(2);
const target = new URL(upstream);
const agent = new http.Agent({ keepAlive: true, maxSockets: 128 });

function post(body) {
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  const options = { agent, host: target.hostname, port: target.port, path: target.pathname, method: "POST", headers };
  return new Promise((resolve, reject) => {
    const request = http.request(options, (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (part) => (text += part));
      answer.on("end", () => resolve(JSON.parse(text)));
      answer.on("error", reject);
    });
    request.on("error", reject);
    request.end(body);
  });
}

const pay = restate.service({
  name: "pay",
  handlers: {
    pay: async (context, order) => context.run("step", () => post(JSON.stringify(order))),
  },
});

const handler = restate.createEndpointHandler({ services: [pay] });
http2.createServer(handler).listen(Number(port), "127.0.0.1", () => console.log("ready"));
