import process from "node:process";
import { connectClient, StdioClientTransport } from "../server/mcp/sdk_client.ts";
import { until, type World } from "./world.ts";

/** The result of one call of a gate tool. */
export interface ToolAnswer {
  isError: boolean;
  /** `structuredContent`: the action's record and the tool's result. */
  // deno-lint-ignore no-explicit-any
  data: any;
  text: string;
}

type Connected = Awaited<ReturnType<typeof connectClient>>;

/** An agent as a host runs it: the SDK's client, connected to its own `gate mcp` process. */
export class Agent {
  readonly #client: Connected;
  readonly #transport: StdioClientTransport;

  private constructor(client: Connected, transport: StdioClientTransport) {
    this.#client = client;
    this.#transport = transport;
  }

  static async connect(world: World): Promise<Agent> {
    const [command, ...args] = world.command(["mcp"]);
    const transport = new StdioClientTransport({
      command: command!,
      args,
      cwd: world.project,
      env: world.env,
      stderr: "ignore",
    });
    return new Agent(await connectClient(transport), transport);
  }

  async toolNames(): Promise<string[]> {
    return (await this.#client.listTools()).tools.map(({ name }) => name);
  }

  async call(name: string, args: Record<string, unknown>, heard?: () => void): Promise<ToolAnswer> {
    const answer = await this.#client.callTool({ name, arguments: args }, undefined, {
      timeout: 60_000,
      ...(heard ? { onprogress: heard } : {}),
    });
    const content = answer.content as { type: string; text?: string }[];
    return {
      isError: answer.isError === true,
      data: answer.structuredContent,
      text: content.map(({ text }) => text ?? "").join("\n"),
    };
  }

  /** Kills `gate mcp` without closing the connection first, as a crash does. */
  async kill(): Promise<void> {
    const pid = this.#transport.pid!;
    process.kill(pid, "SIGKILL");
    await this.#client.close().catch(() => {});
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}

/** Waits until an action is held, then returns it. */
// deno-lint-ignore no-explicit-any
export function heldAction(world: World): Promise<any> {
  return until("an action is held", async () => {
    const { body } = await world.api("GET", "/api/global/approvals/pending");
    return body.items[0];
  });
}
