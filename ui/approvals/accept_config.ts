import { acceptWritten, configWrittenBy } from "../../server/actions/review/accept_written.ts";
import type { ActionDetail } from "../../server/actions/schema.ts";
import { sha256Hex } from "../../server/proof/encoding.ts";
import { announce } from "../parts/toast.tsx";
import { api, explain, unwrap } from "../state/client.ts";

/**
 * Accepts the config that an approved action has written, if it is exactly the text that the person
 * approved. @param edited the person's own text in place of the agent's
 */
export async function acceptConfig(detail: ActionDetail, edited: string | null): Promise<void> {
  const config = configWrittenBy(detail);
  if (config === null) return;
  const { config: route } = api(detail.project_id).api;
  try {
    const sha256 = edited === null ? config.sha256 : await sha256Hex(edited);
    const isAccepted = await acceptWritten({ ...config, sha256 }, {
      read: () => unwrap(route.$get()),
      accept: (json) => unwrap(route.accept.$post({ json })),
    });
    if (isAccepted) announce({ text: "The config is accepted and in force", tone: "ok" }, null);
    else announce({ text: STILL_WAITS, tone: "danger" }, null);
  } catch (error) {
    announce({ text: `${STILL_WAITS}. ${explain(error)}`, tone: "danger" }, null);
  }
}

const STILL_WAITS = "What the config allows still waits for you";
