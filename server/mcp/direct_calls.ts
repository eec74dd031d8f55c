import type { LineTransport } from "./line_transport.ts";
import { ErrorCode, type JSONRPCMessage, type JSONRPCRequest, type RequestId } from "./sdk.ts";

/** One request, for its handler. */
export interface DirectCall {
  request: JSONRPCRequest;
  /** Aborted when the client cancels the request or disconnects. */
  signal: AbortSignal;
  notify: (method: string, params: Record<string, unknown>) => void;
}

/**
 * Answers the requests of one method without the SDK, and passes every other message to it. The SDK
 * checks each message against up to four schemas, which takes as long as the rest of a call here.
 * Call it after the SDK is connected.
 */
export function answerDirectly(
  transport: LineTransport,
  method: string,
  handler: (call: DirectCall) => Promise<Record<string, unknown>>,
): void {
  const running = new Map<RequestId, AbortController>();
  const { onmessage, onclose } = transport;
  transport.onmessage = (message) => {
    if (isDirect(message, method)) return void answer(message);
    if ("method" in message && message.method === "notifications/cancelled") {
      running.get(message.params?.requestId as RequestId)?.abort();
    }
    onmessage?.(message);
  };
  transport.onclose = () => {
    for (const controller of running.values()) controller.abort();
    onclose?.();
  };

  async function answer(request: JSONRPCRequest): Promise<void> {
    const controller = new AbortController();
    const { signal } = controller;
    running.set(request.id, controller);
    const notify: DirectCall["notify"] = (method, params) => {
      if (!signal.aborted) void transport.send({ jsonrpc: "2.0", method, params });
    };
    const outcome = await handler({ request, signal, notify })
      .then((result) => ({ result }), (error) => ({ error: toRpcError(error) }));
    // A later request may have the same id.
    if (running.get(request.id) === controller) running.delete(request.id);
    if (!signal.aborted) await transport.send({ jsonrpc: "2.0", id: request.id, ...outcome });
  }
}

/** The SDK answers a request for a task: gate runs none. */
function isDirect(message: JSONRPCMessage, method: string): message is JSONRPCRequest {
  return "method" in message && message.method === method && "id" in message &&
    message.params?.task === undefined;
}

function toRpcError(error: { code?: unknown; message?: string }) {
  const { code, message = "Internal error" } = error;
  return { code: Number.isSafeInteger(code) ? code as number : ErrorCode.InternalError, message };
}
