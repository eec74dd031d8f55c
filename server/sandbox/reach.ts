import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { type RelayStart, relayStart } from "../runtime/self.ts";
import { commandShell } from "../runtime/sandboxed_process.ts";
import { HostProxy, type ProxyOptions } from "./proxy.ts";
import type { AskedHost, Mount, Walls } from "./schema.ts";

/** The way from a sandbox to the hosts that the policy lists. */
export interface Reach {
  /** The files that the sandbox shows for it. */
  mounts: Mount[];
  /**
   * The text that bash runs in the sandbox before the command: it starts the relay, waits for it, and
   * sets the variables that lead to it.
   */
  opens: string;
  /** Closes the way. Returns the hosts that were asked for. */
  close(): Promise<AskedHost[]>;
}

const FOLDER = "/run/gate";
const PORT = 39_128;

/**
 * Opens the way to the listed hosts for one command; null if its policy lists none, or opens the whole
 * network. A program in the sandbox passes connections on to a proxy outside, which decides.
 */
export async function openReach(
  { hosts, network, closed_ports }: Pick<Walls, "hosts" | "network" | "closed_ports">,
  given: Partial<ProxyOptions> & { relay?: RelayStart | null } = {},
): Promise<Reach | null> {
  const { relay = relayStart(), ...options } = given;
  const hasBash = commandShell()[0]?.endsWith("bash") === true;
  if (hosts.length === 0 || network === "all" || relay === null || !hasBash) return null;
  const proxy = await HostProxy.open({ hosts, closed_ports, ...options }).catch(() => null);
  // Then the command has no network, and is told so.
  if (proxy === null) return null;
  const words = relay.words.map((word) => word.replace("{}", FOLDER)).join(" ");
  const url = `http://127.0.0.1:${PORT}`;
  const variables = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"]
    .map((name) => `${name}=${url}`);
  const local = "localhost,127.0.0.1,::1";
  return {
    mounts: [
      ...relay.files.filter(({ from }) => existsSync(from)).map(({ name, from }): Mount => (
        { at: `${FOLDER}/${name}`, as: "read_only", from }
      )),
      { at: `${FOLDER}/net`, as: "read_only", from: dirname(proxy.path) },
    ],
    opens: [
      // The relay belongs to nobody's jobs, and ends with the sandbox.
      `exec 9< <(DENO_NO_UPDATE_CHECK=1 ${words} ${FOLDER}/net/proxy ${PORT} </dev/null 2>/dev/null &)`,
      "read -r -u 9 _ || { echo 'gate: Cannot open the way to the listed hosts' >&2; exit 126; }",
      "exec 9<&-",
      `export ${variables.join(" ")} no_proxy=${local} NO_PROXY=${local} NODE_USE_ENV_PROXY=1`,
    ].join("\n"),
    close: async () => {
      await proxy.close();
      return proxy.asked;
    },
  };
}
