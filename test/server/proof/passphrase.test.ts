import { scryptSync } from "node:crypto";
import { expect, test } from "vitest";
import {
  createSalt,
  derivePassphraseKey,
  refusePassphrase,
  SCRYPT,
} from "../../../server/proof/passphrase.ts";
import { nativeScrypt } from "../../../cli/proof/native_scrypt.ts";

const SALT = "c2FsdHNhbHRzYWx0c2FsdA";
const GIVEN = { salt: SALT, scrypt: SCRYPT };
const STATEMENT = new TextEncoder().encode("gate proof 1\n{}");

/** Derived in the faster of the two ways that the second test compares. */
function derive(passphrase: string, salt = SALT) {
  return derivePassphraseKey(passphrase, { ...GIVEN, salt, run: nativeScrypt });
}

test("the cost is what the design asks for", () => {
  expect(SCRYPT).toEqual({ N: 131_072, r: 8, p: 1 });
});

test.each([
  ["in JavaScript", undefined],
  ["in the runtime", nativeScrypt],
])("%s the seed is scrypt's, so that another program can derive the same key", async (_, run) => {
  const key = await derivePassphraseKey("correct horse", { ...GIVEN, run });
  const options = { ...SCRYPT, maxmem: 160 * 1024 * 1024 };
  const seed = scryptSync("correct horse", Buffer.from(SALT, "base64url"), 32, options);
  const jwk = { kty: "OKP", crv: "Ed25519", d: seed.toString("base64url"), x: key.public_key };
  const own = await crypto.subtle.importKey("jwk", jwk, "Ed25519", false, ["sign"]);
  const signature = await crypto.subtle.sign("Ed25519", own, STATEMENT);
  expect(await key.sign(STATEMENT)).toBe(Buffer.from(signature).toString("base64url"));
});

test("a signature verifies with the public key, and for no other statement", async () => {
  const key = await derive("correct horse");
  const raw = Buffer.from(key.public_key, "base64url");
  const known = await crypto.subtle.importKey("raw", raw, "Ed25519", false, ["verify"]);
  const signature = Buffer.from(await key.sign(STATEMENT), "base64url");
  const verifies = (bytes: Uint8Array<ArrayBuffer>) =>
    crypto.subtle.verify("Ed25519", known, signature, bytes);
  expect(await verifies(STATEMENT)).toBe(true);
  expect(await verifies(new TextEncoder().encode("gate proof 1\n{ }"))).toBe(false);
});

test.each([
  ["composed and decomposed letters", "caf\u00e9 con leche", "cafe\u0301 con leche", true],
  ["wide letters", "ｐａｓｓｗｏｒｄ", "password", true],
  ["another case", "Correct horse", "correct horse", false],
  ["a space at the end", "correct horse ", "correct horse", false],
])("%s", async (_, one, other, isSame) => {
  const [first, second] = [await derive(one), await derive(other)];
  expect(first.public_key === second.public_key).toBe(isSame);
});

test("another salt gives another key", async () => {
  const [first, second] = [
    await derive("correct horse", createSalt()),
    await derive("correct horse", createSalt()),
  ];
  expect(first.public_key).not.toBe(second.public_key);
});

test.each([
  ["", "it has 0 of at least 8 characters"],
  ["seven 7", "it has 7 of at least 8 characters"],
  ["😀😀😀😀", "it has 4 of at least 8 characters"],
  ["eight  8", null],
  ["ﬃﬃﬃ", null], // NFKC writes each ligature as three letters
])("refusePassphrase(%j) is %j", (typed, why) => {
  expect(refusePassphrase(typed)).toBe(why);
});

test.each([{ N: 65_536 }, { r: 4 }, { p: 0 }])(
  "cheaper parameters are refused: %j",
  async (less) => {
    const scrypt = { ...SCRYPT, ...less } as typeof SCRYPT;
    await expect(derivePassphraseKey("correct horse", { salt: SALT, scrypt })).rejects.toThrow(
      "too weak",
    );
  },
);
