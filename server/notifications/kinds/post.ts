import { Buffer } from "node:buffer";

/** One attempt that failed. */
export class DeliveryError extends Error {
  /** Milliseconds that the receiver asks to wait. */
  readonly retry_after_ms: number | null;
  /** The receiver is gone for good. */
  readonly is_final: boolean;

  constructor(message: string, { retry_after_ms = null, is_final = false }: {
    retry_after_ms?: number | null;
    is_final?: boolean;
  } = {}) {
    super(message);
    this.retry_after_ms = retry_after_ms;
    this.is_final = is_final;
  }
}

/**
 * Sends a JSON text. It follows no redirect, because another address is not the configured one, and
 * reads no answer beyond its status. @throws DeliveryError
 */
export async function postJson(
  url: URL,
  body: string,
  { headers = {}, signal }: { headers?: Record<string, string>; signal: AbortSignal },
): Promise<void> {
  let response: Response;
  try {
    response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", "user-agent": "gate", ...headers },
      body: Buffer.from(body),
      redirect: "manual",
      signal,
    });
  } catch (error) {
    throw new DeliveryError(explainFailure(error, signal));
  }
  await response.body?.cancel().catch(() => {});
  const { status } = response;
  if (status >= 200 && status < 300) return;
  if (response.type === "opaqueredirect" || (status >= 300 && status < 400)) {
    throw new DeliveryError("it redirects to another address; configure that one instead");
  }
  throw new DeliveryError(`it answers with status ${status}`, {
    is_final: status === 410,
    retry_after_ms: secondsOf(response.headers.get("retry-after")),
  });
}

/** The cause in gate's words, because an error may quote the secret address. */
export function explainFailure(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return "it did not answer in time";
  const found = [error, (error as { cause?: unknown }).cause]
    .map((one) => (one as { code?: unknown } | undefined)?.code)
    .find((code) => typeof code === "string" && /^[A-Za-z_]{3,40}$/.test(code));
  return `it cannot be reached${found ? ` (${found})` : ""}`;
}

function secondsOf(header: string | null): number | null {
  return header !== null && /^\d{1,6}$/.test(header) ? Number(header) * 1000 : null;
}
