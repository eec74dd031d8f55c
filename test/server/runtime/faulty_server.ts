import process from "node:process";
import { setImmediate } from "node:timers/promises";
import { serve } from "../../../server/runtime/serve.ts";

/** A server whose handler fails at `/fail`, and whose answer fails at `/broken`. Returns its port. */
export async function startFaultyServer(): Promise<number> {
  const { port } = await serve({
    port: 0,
    socket_path: null,
    async handler({ target }) {
      await setImmediate(); // a request that is answered at once is closed in another way
      if (target === "/fail") throw new Error("the handler failed");
      const broken = new ReadableStream({ pull: () => Promise.reject(new Error("no disk")) });
      return new Response(broken, { headers: { "content-type": "text/plain" } });
    },
    refuse: () => new Response(null, { status: 400 }),
  });
  return port;
}

if (process.argv[2] === "print-port") console.log(await startFaultyServer());
