import type { AddressInfo, Server, Socket } from "node:net";
import { onTestFinished } from "vitest";
import { execs, runJson } from "./harness.ts";

/** A race of ten requests without an expected status. */
export const race = { mode: "http", method: "POST", path: "/", body: "{}", concurrency: 10 };

interface Rung {
  strategy: string;
  taken: boolean;
  why: string;
}

/** Listens until the test ends. Returns the port. */
export async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket.on("error", () => {})));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Runs a race. Returns the strategies tried, the race evidence and the execution. */
export async function runRace(url: string, ...argv: string[]) {
  const { executions } = await runJson(execs(race), "--target", url, "--insecure", ...argv);
  const { race: seen } = executions[0].evidence;
  const rungs = seen.ladder.map(({ strategy, taken, why }: Rung) =>
    taken ? `by ${strategy}` : `not ${strategy}: ${why}`
  );
  return { rungs, race: seen, execution: executions[0] };
}
