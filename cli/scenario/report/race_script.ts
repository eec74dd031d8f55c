import type { Race } from "../execute/race/race.ts";
import { requestPath, type Target } from "../execute/target.ts";
import type { Exec, Execution } from "../schema.ts";

/** A script for Node that repeats the volley. It exits with 1 while the race exists. */
export function raceScript(
  exec: Exec,
  { evidence }: Execution,
  { target, insecure }: { target: Target; insecure: boolean },
): string {
  const { strategy } = evidence.race as Race;
  const plan = {
    target: target.url,
    path: requestPath(target, exec.path ?? ""),
    method: exec.method ?? "GET",
    headers: exec.headers ?? {},
    body: exec.body ?? null,
    insecure,
    count: exec.concurrency,
    http2: strategy === "h2",
    rounds: (evidence.rounds as unknown[] | undefined)?.length ?? 1,
    setup: (exec.setup ?? []).map((one) => ({ ...one, path: requestPath(target, one.path) })),
    check: exec.check ? { ...exec.check, path: requestPath(target, exec.check.path) } : null,
  };
  return `#!/usr/bin/env node
// Sends ${plan.count} identical requests at the same moment. Exits with 1 when more than one wins.
const plan = ${JSON.stringify(plan, null, 2)};
${SCRIPT}`;
}

const SCRIPT = String.raw`
const { connect: dial } = await import("node:net");
const { connect: dialSecurely } = await import("node:tls");
const { connect: dialHttp2 } = await import("node:http2");

const base = new URL(process.env.TARGET ?? plan.target);
const secure = base.protocol === "https:";
const port = Number(base.port) || (secure ? 443 : 80);
const host = base.hostname.replace(/^\[|\]$/g, "");
const tls = { servername: /^[\d.]+$|:/.test(host) ? undefined : host, rejectUnauthorized: !plan.insecure };
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

let raced = 0;
for (let round = 1; round <= plan.rounds; round++) {
  const uniq = Date.now().toString(36) + process.pid + "x" + round;
  const fill = (text) => text.replaceAll(/\{\{([A-Za-z_]\w*)\}\}/g, (_whole, name) => {
    const value = name === "uniq" ? uniq : process.env[name];
    if (value === undefined) throw new Error("Set " + name + " in the environment");
    return value;
  });
  const headers = filled(plan.headers, fill);
  for (const one of plan.setup) await ask(one, fill, headers);
  const before = plan.check && await ask(plan.check, fill, headers);
  const statuses = await (plan.http2 ? overHttp2 : byLastByte)(fill, headers);
  const winners = statuses.filter((status) => status >= 200 && status < 300).length;
  if (winners > 1) raced++;
  console.log("round " + round + ": " + winners + " of " + plan.count + " won: " + statuses.join(" "));
  if (plan.check) console.log("  before " + before + "\n  after  " + await ask(plan.check, fill, headers));
}
console.log(raced > 0 ? "RACE in " + raced + " of " + plan.rounds + " rounds" : "no race was seen");
process.exit(raced > 0 ? 1 : 0);

function filled(given, fill) {
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, fill(value)]));
}

async function ask({ method = "GET", path, headers: own = {}, body }, fill, headers) {
  if (plan.insecure) process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
  const all = { ...headers, ...filled(own, fill) };
  const answer = await fetch(new URL(fill(path), base), { method, headers: all, body: body && fill(body) });
  return answer.status + " " + await answer.text();
}

async function byLastByte(fill, headers) {
  const body = plan.body === null ? null : fill(plan.body);
  const own = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  const lines = [
    plan.method + " " + fill(plan.path) + " HTTP/1.1",
    ...(own.has("host") ? [] : ["Host: " + base.host]),
    ...Object.entries(headers).map(([name, value]) => name + ": " + value),
    ...(body === null || own.has("content-length") ? [] : ["Content-Length: " + Buffer.byteLength(body)]),
    ...(own.has("connection") ? [] : ["Connection: close"]),
  ];
  const bytes = Buffer.from(lines.join("\r\n") + "\r\n\r\n" + (body ?? ""));
  const open = () => secure ? dialSecurely({ host, port, ...tls }) : dial({ host, port });
  const sockets = Array.from({ length: plan.count }, open);
  await Promise.all(sockets.map((socket) =>
    new Promise((resolve, reject) => {
      socket.setNoDelay(true).once("error", reject);
      socket.once(secure ? "secureConnect" : "connect", resolve);
    })
  ));
  for (const socket of sockets) socket.write(bytes.subarray(0, -5));
  await pause(50);
  const answers = sockets.map((socket) =>
    new Promise((resolve) => {
      socket.once("data", (chunk) => resolve(Number(String(chunk).split(" ")[1])));
      socket.once("close", () => resolve(0));
    })
  );
  // Byte by byte, so that the target is awake when the last bytes arrive.
  for (const byte of bytes.subarray(-5)) {
    for (const socket of sockets) socket.write(Buffer.from([byte]));
  }
  const statuses = await Promise.all(answers);
  for (const socket of sockets) socket.destroy();
  return statuses;
}

async function overHttp2(fill, headers) {
  const session = dialHttp2(base.origin, tls);
  await new Promise((resolve, reject) => session.once("connect", resolve).once("error", reject));
  const hop = /^(host|connection|keep-alive|transfer-encoding|upgrade)$/i;
  const own = Object.entries(headers).filter(([name]) => !hop.test(name));
  const body = Buffer.from(plan.body === null ? "" : fill(plan.body));
  const head = { ...Object.fromEntries(own), ":method": plan.method, ":path": fill(plan.path) };
  if (plan.body !== null) head["content-length"] = body.length;
  const streams = Array.from({ length: plan.count }, () => session.request(head, { endStream: false }));
  const answers = streams.map((stream) =>
    new Promise((resolve) => {
      stream.once("response", (given) => resolve(given[":status"]));
      stream.once("error", () => resolve(0));
      stream.resume();
    })
  );
  for (const stream of streams) if (body.length > 1) stream.write(body.subarray(0, -1));
  await pause(100);
  for (const stream of streams) stream.end(body.subarray(-1));
  const statuses = await Promise.all(answers);
  session.destroy();
  return statuses;
}
`;
