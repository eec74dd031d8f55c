import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** An address of this machine, and whether anybody has called it. */
export interface Listener {
  url: string;
  /** Resolves as soon as the address is called, at the latest after `ms`. */
  isCalled: (ms: number) => Promise<boolean>;
  close: () => Promise<void>;
}

/** Listens on a free port of the loopback interface. Every call gets a short text. */
export async function listenForCalls(): Promise<Listener> {
  let isCalled = false;
  const waiting: (() => void)[] = [];
  const server = createServer((request, response) => {
    isCalled = true;
    for (const resolve of waiting) resolve();
    request.resume();
    response.writeHead(200, { "Content-Type": "text/plain", "Connection": "close" }).end("called");
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/called`,
    isCalled: async (ms) => {
      if (isCalled) return true;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        waiting.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
      return isCalled;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
