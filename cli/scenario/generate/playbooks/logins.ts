import { type Draft, nameOf } from "../family.ts";
import { bodyFields, endsLogin, type Operation, sampleRequest } from "../operation.ts";
import { tell } from "./resource.ts";

const LOGIN = /\/(log-?in|sign-?in|sessions?|tokens?|auth|authenticate|session)\/?$/i;
const TOKEN = "text:/token|text:/access_token|text:/accessToken|text:/jwt|text:/session_token|" +
  "text:/sessionToken|text:/data/token|text:/data/access_token";

/** Uses a token after its logout. */
export function staleToken(operations: Operation[]): Draft[] {
  const login = operations.find(isLogin);
  const logout = login && operations.find(endsLogin);
  const reads = operations.filter(isPlainRead);
  const read = reads.find(({ path }) => /\/(me|profile|account|user|whoami)$/i.test(path)) ??
    reads[0];
  if (!login || !logout || !read) return [];
  const headers = { Authorization: "Bearer {{token}}" };
  const as = "nobody";
  const setup = { setup: true, expect: ["2xx" as const] };
  const step = (operation: Operation) => {
    const request = sampleRequest(operation);
    return { ...request, headers: { ...request.headers, ...headers }, as };
  };
  return [tell(logout, {
    family: "stale_token",
    title: `Using a token after ${nameOf(logout)}`,
    who: "A user logs out on a shared computer; somebody else has copied the token.",
    preconditions: [`${nameOf(login)} answers its documented example with a token`],
    steps: ["Log in", `Send ${nameOf(read)} with the token`, "Log out", "Send it again"],
    chaos: ["The token is still within its time"],
    expected: "After logging out the token opens nothing.",
    failures: ["Logging out only deletes the cookie of the browser"],
    priority: "critical",
  }, {
    steps: [
      { ...sampleRequest(login), name: "log in", as, ...setup, save: { token: TOKEN } },
      { ...step(read), name: "use the token", ...setup },
      { ...step(logout), name: "log out", setup: true, expect: ["2xx", "3xx"] },
      { ...step(read), name: "use it again", expect: [401, 403] },
    ],
  })];
}

function isLogin(operation: Operation): boolean {
  const { method, path, security } = operation;
  const asksSecret = bodyFields(operation).some(([name]) => /pass|secret|pin|code/i.test(name));
  return method === "POST" && security.length === 0 && LOGIN.test(path) && asksSecret;
}

function isPlainRead({ method, path, security, parameters }: Operation): boolean {
  return method === "GET" && security.length > 0 && !path.includes("{") &&
    !parameters.some(({ required }) => required);
}
