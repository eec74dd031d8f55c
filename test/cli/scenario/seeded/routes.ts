import { setTimeout as later } from "node:timers/promises";
import { type Answer, type Call, type Handler, refuse, type Route, type Shop } from "./shop.ts";

const get = (pattern: RegExp, handle: Handler, open = false): Route =>
  route("GET", pattern, handle, open);
const post = (pattern: RegExp, handle: Handler, open = false): Route =>
  route("POST", pattern, handle, open);

/** The shop's routes. */
export const ROUTES: Route[] = [
  post(/^\/sessions$/, logIn, true),
  route("DELETE", /^\/sessions\/current$/, logOut),
  get(/^\/profile$/, readProfile),
  route("PATCH", /^\/profile$/, changeProfile),
  post(/^\/users$/, register, true),
  post(/^\/notes$/, makeNote),
  get(
    /^\/notes$/,
    ({ user }, { notes }) => ok([...notes].filter(([, one]) => one.owner === user).map(shown)),
  ),
  get(/^\/notes\/([^/]*)$/, readNote),
  route("PUT", /^\/notes\/([^/]*)$/, changeNote),
  route("DELETE", /^\/notes\/([^/]*)$/, removeNote),
  post(/^\/orders$/, makeOrder),
  get(/^\/orders\/([^/]*)$/, readOrder),
  route("PUT", /^\/orders\/([^/]*)$/, changeOrder),
  post(/^\/orders\/([^/]*)\/pay$/, payOrder),
  post(/^\/comments$/, makeComment),
  get(/^\/comments\/([^/]*)$/, readComment),
  route("DELETE", /^\/comments\/([^/]*)$/, removeComment),
  post(/^\/transfers$/, transfer),
  get(/^\/products$/, listProducts, true),
  get(/^\/reports$/, () => ok({ revenue: 1_000 })),
  get(/^\/files\/(.*)$/, readFile, true),
  get(/^\/go$/, redirect, true),
];

function route(method: string, pattern: RegExp, handle: Handler, open = false): Route {
  return { method, pattern, handle, open };
}

function ok(body: unknown, headers?: Record<string, string>): Answer {
  return { status: 200, body, headers };
}

function made(id: string, more: object = {}): Answer {
  return { status: 201, body: { id, ...more } };
}

function shown([id, { owner: _owner, ...rest }]: [string, { owner: string }]) {
  return { id, ...rest };
}

/** Parses the body as an object. Throws a refusal if it is none. */
function read({ body, headers }: Call, shop: Shop, path = ""): Record<string, unknown> {
  const type = headers["content-type"] ?? "";
  const lax = shop.has("any_content_type") && path === "/comments";
  if (!/^application\/json/.test(type) && !lax) refuse(415, "send JSON");
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch (error) {
    const told = shop.has("stack_trace") && path === "/transfers" ? (error as Error).stack! : "";
    refuse(400, told || "the body is no JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    refuse(400, "the body is no object");
  }
  return value as Record<string, unknown>;
}

function text(value: unknown, name: string): string {
  if (typeof value !== "string" || value === "") refuse(400, `${name} must be a text`);
  return value;
}

function whole(value: unknown, name: string, least: number, most: number): number {
  if (!Number.isInteger(value) || Number(value) < least || Number(value) > most) {
    refuse(400, `${name} must be a whole number from ${least} to ${most}`);
  }
  return Number(value);
}

function logIn(call: Call, shop: Shop): Answer {
  const { user, password } = read(call, shop);
  if (text(user, "user") !== "alice" || text(password, "password") !== "wonderland") {
    return { status: 401, body: { detail: "wrong" }, headers: { "WWW-Authenticate": "Bearer" } };
  }
  const token = `token-${crypto.randomUUID()}`;
  shop.tokens.set(token, "alice");
  return { status: 201, body: { token } };
}

function logOut({ headers }: Call, shop: Shop): Answer {
  const token = headers.authorization!.replace("Bearer ", "");
  if (!shop.has("stale_token")) shop.tokens.delete(token);
  return { status: 204 };
}

function readProfile({ user }: Call, { profiles }: Shop): Answer {
  return ok({ name: user, role: "customer", ...profiles.get(user!) });
}

function changeProfile(call: Call, shop: Shop): Answer {
  const { name, ...others } = read(call, shop);
  const kept = shop.has("mass_assignment") ? others : {};
  shop.profiles.set(call.user!, {
    ...shop.profiles.get(call.user!),
    ...kept,
    name: text(name, "name"),
  });
  return readProfile(call, shop);
}

function register(call: Call, shop: Shop): Answer {
  const { email, password } = read(call, shop);
  if (!/^\S+@\S+$/.test(text(email, "email"))) refuse(400, "email must be an address");
  text(password, "password");
  if (shop.users.has(String(email)) && !shop.has("duplicate_user")) refuse(409, "email is taken");
  shop.users.add(String(email));
  return made(shop.id(), { email });
}

function makeNote(call: Call, shop: Shop): Answer {
  const { title, text: content } = read(call, shop);
  const trimmed = shop.has("type_crash") ? (title as string).trim() : text(title, "title").trim();
  const id = shop.id();
  shop.notes.set(id, { owner: call.user!, title: trimmed, text: text(content, "text") });
  return made(id);
}

function noteOf({ id, user }: Call, shop: Shop, lax = false) {
  const note = shop.notes.get(id);
  if (!note || (note.owner !== user && !lax)) refuse(404, "no such note");
  return note;
}

function readNote(call: Call, shop: Shop): Answer {
  return ok(shown([call.id, noteOf(call, shop, shop.has("idor_read"))]));
}

function changeNote(call: Call, shop: Shop): Answer {
  const note = noteOf(call, shop);
  const { title, text: content } = read(call, shop);
  const next = { title: text(title, "title"), text: text(content, "text") };
  Object.assign(note, next);
  return ok(shown([call.id, note]));
}

function removeNote(call: Call, shop: Shop): Answer {
  noteOf(call, shop);
  shop.notes.delete(call.id);
  return { status: 204 };
}

function makeOrder(call: Call, shop: Shop): Answer {
  const { quantity } = read(call, shop);
  if (shop.has("huge_crash")) new Array(quantity as number);
  const id = shop.id();
  const order = { owner: call.user!, version: 1, paid: false };
  shop.orders.set(id, { ...order, quantity: whole(quantity, "quantity", 1, 100) });
  return made(id);
}

function orderOf({ id, user }: Call, shop: Shop) {
  const order = shop.orders.get(id);
  if (!order || order.owner !== user) refuse(404, "no such order");
  return order;
}

function readOrder(call: Call, shop: Shop): Answer {
  const order = orderOf(call, shop);
  return ok(shown([call.id, order]), { ETag: `"${order.version}"` });
}

function changeOrder(call: Call, shop: Shop): Answer {
  const order = orderOf(call, shop);
  const version = call.headers["if-match"];
  if (version === undefined) refuse(428, "If-Match is missing");
  if (version !== `"${order.version}"` && !shop.has("lost_update")) refuse(412, "it has changed");
  const quantity = whole(read(call, shop).quantity, "quantity", 1, 100);
  Object.assign(order, { quantity, version: order.version + 1 });
  return readOrder(call, shop);
}

async function payOrder(call: Call, shop: Shop): Promise<Answer> {
  const order = orderOf(call, shop);
  if (order.paid) refuse(409, "it is paid");
  if (!shop.has("pay_race")) order.paid = true;
  await later(2); // the time of a bank's response
  order.paid = true;
  return ok({ paid: true });
}

function makeComment(call: Call, shop: Shop): Answer {
  const content = text(read(call, shop, "/comments").text, "text");
  const link = shop.has("unicode_crash") ? encodeURIComponent(content) : "";
  const id = shop.id();
  shop.comments.set(id, { owner: call.user!, text: content });
  return made(id, { link });
}

function readComment({ id }: Call, shop: Shop): Answer {
  const comment = shop.comments.get(id) ?? (shop.has("use_after_delete") && shop.cache.get(id));
  if (!comment) refuse(404, "no such comment");
  shop.cache.set(id, comment);
  return ok({ id, text: (comment as { text: string }).text });
}

function removeComment({ id, user }: Call, shop: Shop): Answer {
  if (shop.comments.get(id)?.owner !== user) refuse(404, "no such comment");
  shop.comments.delete(id);
  return { status: 204 };
}

function transfer(call: Call, shop: Shop): Answer {
  const { to, amount } = read(call, shop, "/transfers");
  const answer = made(shop.id(), {
    to: text(to, "to"),
    amount: whole(amount, "amount", 1, 10_000),
  });
  const key = call.headers["idempotency-key"];
  if (typeof key !== "string" || shop.has("key_ignored")) return answer;
  const known = shop.transfers.get(key) ?? answer;
  shop.transfers.set(key, known);
  return known;
}

function listProducts({ query }: Call, shop: Shop): Answer {
  const number = (name: string, given: number, least: number, most: number) => {
    const value = query.get(name);
    return value === null ? given : whole(Number(value), name, least, most);
  };
  if (shop.has("negative_crash")) new Array(Number(query.get("limit") ?? 1));
  const [limit, offset] = [number("limit", 5, 1, 50), number("offset", 0, 0, 1_000)];
  const from = shop.has("page_overlap") && offset > 0 ? offset - 1 : offset;
  return ok({ items: shop.products.slice(from, from + limit), total: shop.products.length });
}

function readFile({ id }: Call, shop: Shop): Answer {
  if (shop.has("path_traversal") && id.endsWith("etc/passwd")) {
    return ok({ content: "root:x:0:0:root:/root:/bin/sh" });
  }
  if (!/^[\w-]+\.txt$/.test(id)) refuse(404, "no such file");
  return ok({ content: `the file ${id}` });
}

function redirect({ query }: Call, shop: Shop): Answer {
  const to = query.get("to") ?? "/";
  if (shop.has("header_injection")) return { status: 302, headers: { "X-Raw": `Location: ${to}` } };
  return { status: 302, headers: { Location: encodeURI(to) } };
}
