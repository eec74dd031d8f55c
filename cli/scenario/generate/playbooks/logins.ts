import { type Draft, nameOf } from "../family.ts";
import { isLoginPath } from "../names.ts";
import {
  bodyFields,
  bodyWith,
  endsLogin,
  hasFields,
  objectSample,
  type Operation,
  sampleRequest,
  type Schema,
} from "../operation.ts";
import { tell } from "./resource.ts";

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
  return method === "POST" && security.length === 0 && isLoginPath(path) && asksSecret;
}

function isPlainRead({ method, path, security, parameters }: Operation): boolean {
  return method === "GET" && security.length > 0 && !path.includes("{") &&
    !parameters.some(({ required }) => required);
}

const USER = /^(user_?name|login|e?_?mail|email_?address|user|account|phone)$/i;
const PASSWORD = /^(pass(word|wd|phrase)?|pwd|pin|secret)$/i;

/** More wrong passwords in a row than a person types. */
const ATTEMPTS = 20;

/** Wrong passwords in a row, which a service limits. */
export function loginLimit(operations: Operation[]): Draft[] {
  return operations.filter((one) =>
    one.method === "POST" && isLoginPath(one.path) && hasFields(one)
  )
    .flatMap((login) => {
      const names = bodyFields(login).map(([name]) => name);
      const word = names.find((name) => PASSWORD.test(name));
      const user = names.find((name) => USER.test(name));
      if (word === undefined) return [];
      const known = login.known_user ?? String(objectSample(login)[user ?? ""] ?? "");
      const body = bodyWith(login, {
        ...(user === undefined ? {} : { [user]: known }),
        [word]: "wrong-{{uniq}}",
      });
      const name = "a wrong password";
      return [tell(login, {
        family: "login_limit",
        title: `Trying ${ATTEMPTS} wrong passwords on ${nameOf(login)}`,
        who: "A program goes through a list of passwords.",
        steps: [`Send ${ATTEMPTS} wrong passwords for one user in a row`],
        chaos: ["Nobody counts the attempts"],
        expected: "After some attempts the service answers 429, lets the caller wait or locks.",
        failures: ["Any password on a list is found over night"],
        priority: "high",
      }, {
        steps: [{ ...sampleRequest(login), body, name, attempts: ATTEMPTS, as: "nobody" }],
      })];
    });
}

const RESET = /reset|recover|verif|confirm|otp|2fa|mfa|unlock/i;
const ASKS_FOR_CODE = /forgot|recover|(send|request)[_-]?(code|otp|pin|reset)/i;
const CODE = /^((reset|verification|confirmation|login)_?)?(pin|otp|code)$/i;

/** Wrong codes in a row, of which there are too few to let anybody guess for long. */
export function codeLimit(operations: Operation[]): Draft[] {
  return operations.filter((one) => one.method === "POST" && RESET.test(one.path) && hasFields(one))
    .flatMap((reset) => {
      const names = bodyFields(reset).map(([name]) => name);
      const code = names.find((name) => CODE.test(name));
      const user = names.find((name) => USER.test(name));
      if (code === undefined || user === undefined) return [];
      const known = reset.known_user ?? String(objectSample(reset)[user] ?? "");
      const asks = operations.find((one) =>
        one.method === "POST" && ASKS_FOR_CODE.test(one.path) && hasFields(one) &&
        bodyFields(one).some(([name]) => name === user)
      );
      const wrong = zerosLike(objectSample(reset)[code], fieldSchema(reset, code));
      const body = bodyWith(reset, { [user]: known, [code]: wrong });
      const name = "a wrong code";
      return [tell(reset, {
        family: "code_limit",
        title: `Trying ${ATTEMPTS} wrong codes on ${nameOf(reset)}`,
        who: "A program goes through all codes of a few digits.",
        preconditions: asks ? [`${nameOf(asks)} sends a code to the user`] : [],
        steps: [`Send ${ATTEMPTS} wrong codes for one user in a row`],
        chaos: ["Nobody counts the attempts"],
        expected: "After some attempts the code ends, or the service answers 429 or locks.",
        failures: ["Every code is found within minutes, and the login taken over"],
        priority: "high",
      }, {
        steps: [
          ...(asks
            ? [{
              ...sampleRequest(asks),
              body: bodyWith(asks, { [user]: known }),
              name: "ask for a code",
              as: "nobody",
              probe: true,
            }]
            : []),
          { ...sampleRequest(reset), body, name, attempts: ATTEMPTS, as: "nobody" },
        ],
      })];
    });
}

function fieldSchema(operation: Operation, field: string): Schema {
  return bodyFields(operation).find(([name]) => name === field)?.[1] ?? {};
}

/** As many zeros as a code has digits. */
function zerosLike(sample: unknown, { pattern, maxLength }: Schema): string {
  const digits = /\\d\{(\d)/.exec(String(pattern ?? ""))?.[1];
  const known = /^\d{3,8}$/.test(String(sample)) ? String(sample).length : undefined;
  const most = typeof maxLength === "number" && maxLength <= 8 ? maxLength : 6;
  return "0".repeat(Number(digits ?? known ?? most));
}

/** A login that refuses unknown users in another way than wrong passwords. */
export function enumeration(operations: Operation[]): Draft[] {
  return operations.filter((one) =>
    one.method === "POST" && isLoginPath(one.path) && hasFields(one)
  )
    .flatMap((login) => {
      const sample = objectSample(login);
      const user = bodyFields(login).map(([name]) => name).find((name) => USER.test(name));
      const word = bodyFields(login).map(([name]) => name).find((name) => PASSWORD.test(name));
      if (user === undefined || word === undefined) return [];
      const known = login.known_user ?? (login.learned ? String(sample[user]) : undefined);
      if (known === undefined) return [];
      const request = sampleRequest(login);
      const isMail = known.includes("@");
      const step = (name: string) => ({
        ...request,
        body: bodyWith(login, { [user]: name, [word]: "wrong-{{uniq}}" }),
        as: "nobody",
      });
      return [tell(login, {
        family: "user_enumeration",
        title: `Finding out through ${nameOf(login)} which users exist`,
        who: "Somebody tries names, each with a wrong password, and looks at the refusals.",
        steps: ["Log in as a known user with a wrong password", "Log in as an unknown user"],
        chaos: ["One refusal comes from a lookup, the other from a comparison"],
        expected: "Both are refused in the same way.",
        failures: ["A list of users can be made, and their passwords tried"],
        priority: "medium",
      }, {
        steps: [
          { ...step(known), name: "a known user with a wrong password", probe: true },
          {
            ...step(isMail ? "nosuch{{uniq}}@example.com" : "nosuch{{uniq}}"),
            name: "an unknown user",
            tells_apart: "a known user with a wrong password",
          },
        ],
      })];
    });
}
