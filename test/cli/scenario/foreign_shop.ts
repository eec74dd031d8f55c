import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { serve } from "./harness.ts";

const text = { type: "string" };
const login = { security: [{ key: [] }] };
const ok = { responses: { 200: { description: "" }, 404: { description: "" } } };
const query = (...names: string[]) =>
  names.map((name) => ({
    name: name.replace("?", ""),
    in: "query",
    required: !name.endsWith("?"),
    schema: /is_/.test(name)
      ? { type: "boolean" }
      : /amount/.test(name)
      ? { type: "number" }
      : text,
  }));
const inPath = (...names: string[]) => ({
  parameters: names.map((name) => ({ name, in: "path", required: true, schema: text })),
});

/** A shop that takes its forms in the query, and names no record in a body. */
const PATHS = {
  "/users": { post: { ...login, parameters: query("username", "email"), ...ok } },
  "/users/{userId}": {
    ...inPath("userId"),
    get: { ...login, ...ok },
    put: { ...login, parameters: query("email?", "is_admin?"), ...ok },
    delete: { ...login, ...ok },
  },
  "/users/{userId}/addresses": {
    ...inPath("userId"),
    get: { ...login, ...ok },
    post: { ...login, parameters: query("street"), ...ok },
  },
  "/users/{userId}/addresses/{addressId}": {
    ...inPath("userId", "addressId"),
    get: { ...login, ...ok },
    delete: { ...login, ...ok },
  },
  "/users/{userId}/orders": {
    ...inPath("userId"),
    get: { ...login, ...ok },
    post: { ...login, parameters: query("address_id"), ...ok },
  },
  "/balance": { get: { ...login, ...ok } },
  "/pay": { post: { ...login, parameters: query("amount"), ...ok } },
  "/gift": { post: { ...login, parameters: query("amount"), ...ok } },
};

type Member = Record<string, unknown>;
interface Shop {
  users: Map<string, Member>;
  addresses: Map<string, Member>;
  orders: Map<string, Member>;
  money: Map<string, number>;
}

const BALANCE = 50;
/** The users of the two logins. */
export const ALICE = "11111111-1111-4111-8111-111111111111";
export const BOB = "22222222-2222-4222-8222-222222222222";
const token = (id: string, name: string) => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "HS256" })}.${part({ user_id: id, username: name })}.c2ln`;
};

/** The document of the shop. */
export const SHOP = {
  openapi: "3.1.0",
  info: { title: "shop", version: "1" },
  components: { securitySchemes: { key: { type: "http", scheme: "bearer" } } },
  paths: PATHS,
};

/** The users by the header of their login. */
const USERS = new Map(
  [[ALICE, "alice"], [BOB, "bob"]].map(([id = "", name = ""]) => [`Bearer ${token(id, name)}`, id]),
);

/** The logins of two users, as options of a run. */
export const LOGINS = [...USERS].flatMap(([header, id]) => [
  "--as",
  `${id === ALICE ? "alice" : "bob"}=Authorization: ${header}`,
]);

/** The method and body that each kind of address takes. */
const METHODS: Record<string, string[]> = {
  "balance/": ["GET"],
  "pay/": ["POST"],
  "gift/": ["POST"],
  "users/": ["POST"],
  "users/one": ["GET", "PUT", "DELETE"],
  "users/addresses": ["GET", "POST"],
  "users/addressesone": ["GET", "DELETE"],
  "users/orders": ["GET", "POST"],
};

/** Serves the shop until the test ends; a guarded one compares whose record it is. */
export async function serveShop({ isGuarded }: { isGuarded: boolean }) {
  const shop: Shop = {
    users: new Map([[ALICE, { username: "alice" }], [BOB, { username: "bob" }]]),
    addresses: new Map(),
    orders: new Map(),
    money: new Map([[ALICE, BALANCE], [BOB, BALANCE]]),
  };
  let made = 0;
  const id = () => `33333333-3333-4333-8333-${String(++made).padStart(12, "0")}`;
  const answer = async (request: IncomingMessage): Promise<[number, unknown?]> => {
    const url = new URL(request.url!, "http://shop");
    const fields = Object.fromEntries(url.searchParams);
    const [, first = "", user = "", what = "", which = ""] = url.pathname.split("/");
    const who = USERS.get(request.headers.authorization ?? "");
    if (who === undefined || !shop.users.has(who)) return [401];
    const methods = METHODS[`${first}/${what}${user && !what ? "one" : ""}${which ? "one" : ""}`];
    if (methods && !methods.includes(request.method ?? "")) return [405];
    if (first === "balance") return [200, { balance: shop.money.get(who) }];
    if (first === "pay" || first === "gift") {
      return await pay(shop, who, Number(fields.amount), isGuarded);
    }
    if (first !== "users") return [404];
    if (user === "") return addUser(shop, id(), fields);
    const record = shop.users.get(user);
    if (!record) return [404];
    if (isGuarded && user !== who && record.made_by !== who) return [404];
    if (what === "") return changeUser(shop, user, { request, fields, isGuarded });
    const store = what === "orders" ? shop.orders : shop.addresses;
    if (which !== "") {
      if (store.get(which)?.user_id !== user) return [404];
      return request.method === "DELETE"
        ? [store.delete(which) ? 200 : 404]
        : [200, store.get(which)];
    }
    const own = [...store.values()].filter(({ user_id }) => user_id === user);
    if (request.method === "GET") return [200, own];
    const address = shop.addresses.get(String(fields.address_id));
    if (what === "orders" && (!address || (isGuarded && address.user_id !== user))) return [404];
    const key = id();
    const name = what === "orders" ? "order_id" : "address_id";
    store.set(key, { ...fields, [name]: key, user_id: user });
    return [201, store.get(key)];
  };
  const { url, requests } = await serve(
    async (request: IncomingMessage, response: ServerResponse) => {
      const [status, value = {}] = await answer(request);
      response.writeHead(status, { "Content-Type": "application/json" });
      response.end(JSON.stringify(value));
    },
  );
  return { url, requests, shop };
}

function addUser({ users }: Shop, id: string, fields: Member): [number, unknown?] {
  const { username, email } = fields;
  if (!username || !email) return [422];
  if ([...users.values()].some((one) => one.username === username)) return [409];
  users.set(id, { user_id: id, username, email, is_admin: false });
  return [201, users.get(id)];
}

function changeUser(
  { users }: Shop,
  user: string,
  { request, fields, isGuarded }: { request: IncomingMessage; fields: Member; isGuarded: boolean },
): [number, unknown?] {
  const record = users.get(user)!;
  if (request.method === "DELETE") return [users.delete(user) ? 200 : 404];
  if (request.method === "PUT") {
    if (Object.keys(fields).length === 0) return [400, { detail: "No update data provided" }];
    if (fields.email) record.email = fields.email;
    if (!isGuarded) record.is_admin = fields.is_admin === "true";
  }
  return [200, { user_id: user, is_admin: false, ...record }];
}

/**
 * Without a guard the balance is read, and changed a moment later. The first volley misses that
 * window, which is open once something was spent.
 */
async function pay(
  { money }: Shop,
  who: string,
  amount: number,
  isGuarded: boolean,
): Promise<[number, unknown?]> {
  const before = money.get(who) ?? 0;
  if (!(amount > 0)) return [422];
  if (before < amount) return [400, { detail: "not enough" }];
  const isOpen = !isGuarded && before < BALANCE;
  if (isOpen) await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  money.set(who, money.get(who)! - amount);
  return [200, { paid: amount }];
}
