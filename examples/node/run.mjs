// Starts the service and the gateway, and sends the same request twice. The card is charged once.
//
// Set ONEFOLD to the program if it is not on the PATH.

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const HERE = import.meta.dirname ?? new URL(".", import.meta.url).pathname;
const [SERVICE, GATEWAY] = [8182, 7182];

async function untilListening(port) {
  for (let tries = 0; tries < 300; tries++) {
    const there = await new Promise((resolve) => {
      const socket = connect(port, "127.0.0.1", () => resolve(true));
      socket.on("error", () => resolve(false));
      socket.on("connect", () => socket.end());
    });
    if (there) return;
    await sleep(100);
  }
  throw new Error(`nobody listens on port ${port}`);
}

async function charge(key, amount) {
  const answer = await fetch(`http://127.0.0.1:${GATEWAY}/charges`, {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": key },
    body: JSON.stringify({ amount }),
  });
  const replayed = answer.headers.get("idempotent-replayed") === "true";
  console.log(answer.status, await answer.text(), replayed ? "replayed" : "performed");
  return replayed;
}

const ended = (child) =>
  new Promise((resolve) => (child.pid && child.exitCode === null ? child.on("exit", resolve) : resolve()));

const folder = await mkdtemp(join(tmpdir(), "onefold-"));
const place = ["--database", `sqlite:${folder}/onefold.db`, "--listen", "127.0.0.1:0", "--log", "error"];
const children = [
  spawn(process.execPath, [join(HERE, "service.mjs"), String(SERVICE)], { stdio: "inherit" }),
  spawn(process.env.ONEFOLD ?? "onefold", ["serve", "--config", join(HERE, "onefold.toml"), ...place], {
    stdio: ["ignore", "ignore", "inherit"],
  }),
];
// A program that cannot be started must not leave the other one behind.
const broken = Promise.all(children.map((child) => new Promise((_, reject) => child.on("error", reject))));
try {
  await Promise.race([broken, play()]);
} finally {
  for (const child of children) {
    child.kill();
    await ended(child);
  }
  await rm(folder, { recursive: true });
}

async function play() {
  await untilListening(SERVICE);
  await untilListening(GATEWAY);
  const key = randomUUID();
  const replays = [await charge(key, 4200), await charge(key, 4200)];
  const { charges } = await (await fetch(`http://127.0.0.1:${SERVICE}/`)).json();
  console.log(`sent twice, charged ${charges} time${charges === 1 ? "" : "s"}`);
  process.exitCode = replays.join() === "false,true" && charges === 1 ? 0 : 1;
}
