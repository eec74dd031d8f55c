import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { signAdHoc, verifyAdHoc } from "../../dist/macho.ts";
import {
  fetchMachine,
  installedBun,
  type Machine,
  MACHINES,
  thisMachine,
} from "../../dist/targets.ts";
import { createTempFolder } from "../temp_folder.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const CODE_BYTES = 10_000;

describe("signAdHoc()", () => {
  test("covers every page up to the signature, in the form of Apple's linker", () => {
    const signed = Buffer.from(signAdHoc(madeExecutable(), "gate"));
    expect(verifyAdHoc(signed)).toBe(3);
    const directory = signed.subarray(CODE_BYTES + 20);
    expect(directory.readUInt32BE(0)).toBe(0xfade0c02);
    expect(directory.readUInt32BE(12)).toBe(0x20002); // ad hoc, by a linker; no hardened runtime
    expect(directory.readUInt32BE(32)).toBe(CODE_BYTES);
    expect(directory.subarray(88, 93).toString("latin1")).toBe("gate\0");
    const last = createHash("sha256").update(signed.subarray(8192, CODE_BYTES)).digest();
    expect(directory.subarray(93 + 2 * 32, 93 + 3 * 32)).toEqual(last);
  });

  test("changes the sizes that the loader reads and keeps every other byte", () => {
    const unsigned = madeExecutable();
    const signed = Buffer.from(signAdHoc(unsigned, "gate"));
    expect(signed.length % 16).toBe(0);
    expect(signed.readUInt32LE(176 + 12)).toBe(signed.length - CODE_BYTES);
    expect(signed.readBigUInt64LE(104 + 48)).toBe(BigInt(signed.length - 8192));
    expect(signed.readBigUInt64LE(104 + 32)).toBe(16384n);
    expect(signed.subarray(192, CODE_BYTES)).toEqual(unsigned.subarray(192, CODE_BYTES));
  });

  test("signing twice gives the same bytes", () => {
    const signed = signAdHoc(madeExecutable(), "gate");
    expect(signAdHoc(signed, "gate")).toEqual(signed);
  });

  test.each([
    ["no Mach-O file", Buffer.from("#!/bin/sh\n"), "it is no 64-bit Mach-O file"],
    ["bytes after the signature", Buffer.concat([madeExecutable(), Buffer.of(0)]), "at its end"],
    ["no signature", madeExecutable({ commands: 2 }), "it has no code signature"],
  ])("refuses %s", (_, executable, message) => {
    expect(() => signAdHoc(executable, "gate")).toThrow(message);
  });
});

describe("verifyAdHoc()", () => {
  test("finds a changed byte on any page", () => {
    const signed = signAdHoc(madeExecutable(), "gate");
    for (const at of [24, 5000, CODE_BYTES - 1]) {
      const changed = signed.slice();
      changed[at]! ^= 1;
      expect(() => verifyAdHoc(changed)).toThrow("1 of 3 page hashes are wrong");
    }
  });

  test.each([
    ["a signature with the hardened runtime", 20 + 13, "is not an ad-hoc one"],
    ["a signature that ends before the file does", 20 + 35, "does not cover the whole file"],
    ["hashes of another kind", 20 + 37, "does not cover the whole file"],
  ])("refuses %s", (_, at, message) => {
    const signed = signAdHoc(madeExecutable(), "gate");
    signed[CODE_BYTES + at]! ^= 1;
    expect(() => verifyAdHoc(signed)).toThrow(message);
  });
});

describe("an executable from Bun's compiler", () => {
  test.for([["darwin-x64", true], ["darwin-arm64", false]] as const)(
    "%s has a right signature once it is signed",
    { timeout: 120_000 },
    async ([name, isForUsToSign], { skip }) => {
      const machine = MACHINES.find((known) => known.name === name)!;
      const fetched = await fetchMachine(ROOT, machine).catch(unlessOffline);
      if (!fetched) return skip("the package registry cannot be reached");
      const made = compileFor(machine, fetched.bun);
      if (isForUsToSign) expect(() => verifyAdHoc(made)).toThrow("is not an ad-hoc one");
      const signed = isForUsToSign ? signAdHoc(made, "gate") : made;
      expect(verifyAdHoc(signed)).toBeGreaterThan(20_000);
    },
  );
});

/** A Mach-O file with two segments, space for a signature, and 10,000 bytes for it to cover. */
function madeExecutable({ commands = 3 } = {}): Buffer {
  const bytes = Buffer.alloc(CODE_BYTES + 64, "made");
  bytes.fill(0, 0, 192);
  bytes.writeUInt32LE(0xfeedfacf, 0);
  bytes.writeUInt32LE(commands, 16);
  writeSegment(bytes, 32, "__TEXT", 0, 8192);
  writeSegment(bytes, 104, "__LINKEDIT", 8192, bytes.length - 8192);
  bytes.writeUInt32LE(0x1d, 176);
  bytes.writeUInt32LE(16, 180);
  bytes.writeUInt32LE(CODE_BYTES, 184);
  bytes.writeUInt32LE(64, 188);
  return bytes;
}

function writeSegment(bytes: Buffer, at: number, name: string, from: number, size: number): void {
  bytes.writeUInt32LE(0x19, at);
  bytes.writeUInt32LE(72, at + 4);
  bytes.write(name, at + 8, "latin1");
  bytes.writeBigUInt64LE(BigInt(from), at + 40);
  bytes.writeBigUInt64LE(BigInt(size), at + 48);
}

/** Returns null when `npm pack` fails offline. A package with a wrong hash is still an error. */
function unlessOffline(error: object): null {
  if ("status" in error) return null;
  throw error;
}

function compileFor(machine: Machine, bun: string): Buffer {
  const folder = createTempFolder("macho");
  const [entry, outfile] = [join(folder, "entry.ts"), join(folder, "made")];
  writeFileSync(entry, "console.log(1);\n");
  const isMusl = process.platform === "linux" && existsSync("/etc/alpine-release");
  const compiler = installedBun(ROOT, thisMachine(process.platform, process.arch, isMusl));
  const { status, stderr } = spawnSync(compiler, [
    "build",
    "--compile",
    `--target=${machine.bun.target}`,
    `--compile-executable-path=${bun}`,
    entry,
    `--outfile=${outfile}`,
  ], { encoding: "utf8" });
  expect([status, stderr]).toEqual([0, expect.any(String)]);
  return readFileSync(outfile);
}
