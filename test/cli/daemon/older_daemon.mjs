// A daemon of an older release, as far as a newer one looks at it: argv is its home and its port.
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import process from "node:process";

const [home, port] = process.argv.slice(2);
const status = {
  version: "4.9.12",
  pid: process.pid,
  port: Number(port),
  started_at: new Date().toISOString(),
  uptime_seconds: 1,
  healthy: true,
  projects: [],
  problems: [],
};
mkdirSync(join(home, "run"), { recursive: true, mode: 0o700 });
mkdirSync(join(home, "tokens"), { recursive: true, mode: 0o700 });
for (const scope of ["agent", "viewer", "reviewer"]) {
  writeFileSync(join(home, "tokens", scope), scope.padEnd(43, "x"), { mode: 0o600 });
}
const answer = (_request, response) => {
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(status));
};
const local = createServer(answer).listen(join(home, "run", "gate.sock"));
const tcp = createServer(answer).listen(Number(port), "127.0.0.1", () => console.log("up"));
process.on("SIGTERM", () => {
  for (const server of [local, tcp]) {
    server.close();
    server.closeAllConnections();
  }
  console.log("gave way");
  process.exit(0);
});
