import { setImmediate as tick } from "node:timers/promises";
import { serve } from "./harness.ts";

const integer = { type: "integer", minimum: 1, maximum: 10 };
const body = (properties: object) => ({
  requestBody: {
    required: true,
    content: {
      "application/json": {
        schema: { type: "object", required: Object.keys(properties), properties },
      },
    },
  },
});
const answers = (...statuses: number[]) => ({
  responses: Object.fromEntries(statuses.map((status) => [status, { description: "" }])),
});
const path = (name: string) => ({
  name,
  in: "path",
  required: true,
  schema: { type: "string" },
});

/** Boards with cards, and payments with an idempotency key. */
export const BOARDS = {
  openapi: "3.1.0",
  security: [{ bearer: [] }],
  components: { securitySchemes: { bearer: { type: "http", scheme: "bearer" } } },
  paths: {
    "/boards": { post: { ...body({ title: { type: "string" } }), ...answers(201, 422) } },
    "/boards/{board}": { parameters: [path("board")], get: answers(200, 404) },
    "/boards/{board}/cards": {
      parameters: [path("board")],
      post: { ...body({ points: integer }), ...answers(201, 404, 422) },
    },
    "/boards/{board}/cards/{card}": {
      parameters: [path("board"), path("card")],
      get: answers(200, 404),
    },
    "/boards/{board}/cards/{card}/close": {
      parameters: [path("board"), path("card")],
      post: answers(200, 404, 409),
    },
    "/payments": {
      post: {
        parameters: [{ name: "Idempotency-Key", in: "header", schema: { type: "string" } }],
        ...body({ amount: integer }),
        ...answers(201, 422),
      },
    },
  },
};

/** The bugs that the service can have. */
export type Bug =
  | "card_idor"
  | "any_points"
  | "close_race"
  | "key_race"
  | "key_replays"
  | "key_ignored";
interface Call {
  method: string;
  parts: string[];
  user: string;
  key: string;
  json: Record<string, unknown> | null;
}

/** A service for the document, with one bug or none. */
function service(bug?: Bug) {
  const records = new Map<string, { owner: string; board?: string; closed?: boolean }>();
  const keys = new Map<string, { amount: unknown; id: string }>();
  let last = 0;
  const make = (record: { owner: string; board?: string }) => {
    records.set(`${++last}`, record);
    return [201, { id: `${last}` }] as const;
  };
  const refused = [422, { error: "invalid" }] as const;
  const isAmount = (value: unknown) =>
    typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= 10;
  const onBoard = async ({ method, parts: [, board, , card, verb], user, json }: Call) => {
    const mine = records.get(board!)?.owner === user;
    const one = records.get(card!);
    if (!mine && !(bug === "card_idor" && method === "GET" && card)) return [404, {}] as const;
    if (!card) {
      const isFine = json !== null && (bug === "any_points" || isAmount(json.points));
      return isFine ? make({ owner: user, board }) : refused;
    }
    if (one?.board !== board) return [404, {}] as const;
    if (!verb) return [200, { id: card }] as const;
    if (one!.closed) return [409, {}] as const;
    if (bug === "close_race") await tick();
    one!.closed = true;
    return [200, {}] as const;
  };
  const pay = async ({ key, json }: Call) => {
    const had = keys.get(key);
    if (!isAmount(json?.amount)) return refused;
    if (had && bug !== "key_ignored") {
      return had.amount === json!.amount || bug === "key_replays"
        ? [201, { id: had.id }] as const
        : refused;
    }
    const done = { amount: json!.amount, id: `p${++last}` };
    if (bug === "key_race") await tick();
    if (key) keys.set(key, done);
    return [201, { id: done.id }] as const;
  };
  return async (call: Call) => {
    const { method, parts: [kind, board, cards], user, json } = call;
    if (!user) return [401, {}] as const;
    // A verb that the document does not list is refused on records that exist, too.
    const isRead = method === "GET" || method === "HEAD";
    if (kind === "boards" && (board && !cards || call.parts.length === 4) && !isRead) {
      return [405, {}] as const;
    }
    if (kind === "boards" && call.parts.length === 3 && method !== "POST") {
      return [405, {}] as const;
    }
    if (kind === "payments") return method === "POST" ? await pay(call) : [405, {}] as const;
    if (cards) return await onBoard(call);
    if (!board) return typeof json?.title === "string" ? make({ owner: user }) : refused;
    return records.get(board)?.owner === user ? [200, { id: board }] as const : [404, {}] as const;
  };
}

/** Serves the boards until the test ends. Returns the address. */
export async function serveBoards(bug?: Bug): Promise<string> {
  const handle = service(bug);
  const { url } = await serve(async (request, response, text) => {
    const { authorization, "idempotency-key": key } = request.headers;
    let json = null;
    try {
      json = JSON.parse(text);
    } catch {
      // The service refuses malformed bodies like invalid ones.
    }
    const [status, answer] = await handle({
      method: request.method!,
      parts: request.url!.split("?")[0]!.slice(1).split("/"),
      user: authorization?.match(/^Bearer (alice|bob)$/)?.[1] ?? "",
      key: String(key ?? ""),
      json: typeof json === "object" && !Array.isArray(json) ? json : null,
    });
    response.writeHead(status, { "Content-Type": "application/json" });
    response.end(JSON.stringify(answer));
  });
  return url;
}
