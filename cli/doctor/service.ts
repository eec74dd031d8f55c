import { findService, type Service, stateOf } from "../service/service.ts";
import type { CheckContext } from "./context.ts";
import type { Findings } from "./findings.ts";

/** Checks the service, if it is installed. */
export async function checkService({ io }: CheckContext, found: Findings): Promise<void> {
  let service: Service;
  try {
    service = findService(io);
  } catch (error) {
    return found.ok((error as Error).message);
  }
  if (service.found === null) {
    return found.ok("not installed: the daemon starts when it is needed");
  }
  if (service.found !== service.wanted) {
    found.warn(`${service.manager.file} is outdated`, "gate service install");
  }
  const { running, says } = await stateOf(service);
  if (!running) found.warn(`it does not run: ${says}`, "gate service install");
  else if (found.list.length === 0) found.ok(`${service.manager.name} runs it`);
}
