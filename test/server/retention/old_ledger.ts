import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { v7 } from "uuid";
import { Daemon } from "../../../server/daemon.ts";
import type { Environment } from "../../../server/environment.ts";
import type { Project } from "../../../server/projects/project.ts";
import { testCaller } from "../../helpers.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;

/** Writes a home that decides by a token and keeps contents for 30 days, and a project. */
export function writeFolders(home: string, root: string): void {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  mkdirSync(root, { recursive: true });
  const config = { approvals: { proof: "token" }, retention: { days: 30 } };
  writeFileSync(join(home, "config.json"), JSON.stringify(config), { mode: 0o600 });
  const policies = { defaultEffect: "allow" };
  writeFileSync(join(root, "gate.config.json"), JSON.stringify({ id: "old", policies }));
}

/** Opens a daemon whose clock is so many days behind. */
export async function openAgo(
  home: string,
  root: string,
  days: number,
  fault?: Environment["fault"],
): Promise<{ daemon: Daemon; project: Project }> {
  const daemon = await Daemon.open({
    home,
    now: () => Date.now() - days * DAY_MS,
    id: () => v7(),
    log: () => {},
    ...fault && { fault },
  }, { port: 47996 });
  const { id } = await daemon.projects.register(root, testCaller("reviewer"));
  return { daemon, project: await daemon.projects.get(id) };
}

/** Three old writes, the second over the first: the last content has several chunks. */
export async function writeOld(home: string, root: string): Promise<{ ids: string[] }> {
  const { daemon, project: { actions } } = await openAgo(home, root, 40);
  const ids: string[] = [];
  const large = randomBytes(3 * 1024 * 1024).toString("hex");
  for (const [path, content] of [["a.txt", "one"], ["a.txt", "two"], ["large.txt", large]]) {
    const input = { path, content };
    const call = { tool: "write_file", input, wait_ms: 0 };
    ids.push((await actions.submit(call, testCaller("agent"))).action.id);
  }
  await daemon.close();
  return { ids };
}
