/**
 * A target with a race, for Node and Deno. `/open/<window>/<id>` checks, waits and then sets; its
 * twin `/guarded/<window>/<id>` sets before it waits. Prints its ports. Exits when stdin ends.
 */
import { createServer } from "node:http";
import { createSecureServer } from "node:http2";
import process from "node:process";
import { setImmediate } from "node:timers";

const { TWIN_KEY: key, TWIN_CERT: cert } = process.env;
const used = new Set();

const WINDOWS = {
  tick: () => new Promise((resolve) => setImmediate(resolve)),
  "300us": () => turns(0.3),
  "1ms": () => new Promise((resolve) => setTimeout(resolve, 1)),
  "5ms": () => new Promise((resolve) => setTimeout(resolve, 5)),
};

/** Yields to the event loop until the time is over, because timers are not that precise. */
async function turns(ms) {
  const end = performance.now() + ms;
  while (performance.now() < end) await WINDOWS.tick();
}

async function redeem(path) {
  const [, kind, window, id] = path.split("/");
  if (!(window in WINDOWS) || !id) return 404;
  if (used.has(path)) return 409;
  if (kind === "guarded") used.add(path);
  await WINDOWS[window]();
  used.add(path);
  return 200;
}

async function onNode() {
  const answer = (request, response) => {
    request.resume().on("end", async () => response.writeHead(await redeem(request.url)).end());
  };
  const listen = (server) =>
    new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server.address().port)));
  return {
    plain: await listen(createServer(answer)),
    secure: await listen(createSecureServer({ key, cert }, answer)),
  };
}

function onDeno() {
  const answer = async (request) => {
    await request.arrayBuffer();
    return new Response(null, { status: await redeem(new URL(request.url).pathname) });
  };
  const listen = (more) =>
    globalThis.Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {}, ...more }, answer).addr
      .port;
  return { plain: listen({}), secure: listen({ key, cert }) };
}

console.log(JSON.stringify("Deno" in globalThis ? onDeno() : await onNode()));
process.stdin.resume().on("end", () => process.exit());
