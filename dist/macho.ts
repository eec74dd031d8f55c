import { createHash } from "node:crypto";

const MACHO_64 = 0xfeedfacf;
const LC_SEGMENT_64 = 0x19;
const LC_CODE_SIGNATURE = 0x1d;
const SUPER_BLOB = 0xfade0cc0;
const CODE_DIRECTORY = 0xfade0c02;
const CODE_DIRECTORY_SLOT = 0;
const ADHOC = 0x2;
const LINKER_SIGNED = 0x20000;
const MAIN_BINARY = 1;
const SHA256 = 2;
const HASH_BYTES = 32;
const PAGE_BITS = 12;
const PAGE = 1 << PAGE_BITS;
/** The one blob of the signature follows the super blob's header and its one index entry. */
const BLOB_AT = 20;
/** The fixed part of a code directory of version 2.4, the first with the executable segment. */
const DIRECTORY_BYTES = 88;
const DIRECTORY_VERSION = 0x20400;

/**
 * Returns the executable with its code signature replaced by an ad-hoc one over the whole file, in
 * the form that Apple's linker writes: one code directory, no entitlements, no hardened runtime.
 * @throws Error when it is no 64-bit Mach-O executable that ends with a code signature
 */
export function signAdHoc(executable: Uint8Array, identifier: string): Uint8Array {
  const { signature, linkedit, text } = readLayout(executable);
  const limit = signature.offset;
  const pages = Math.ceil(limit / PAGE);
  const name = new TextEncoder().encode(`${identifier}\0`);
  const hashesAt = DIRECTORY_BYTES + name.length;
  const length = BLOB_AT + hashesAt + pages * HASH_BYTES;
  const signed = new Uint8Array(roundUp(limit + length, 16));
  signed.set(executable.subarray(0, limit));
  const view = viewOf(signed);

  // The first page holds these sizes, so they are written before the pages are hashed.
  const inLinkedit = signed.length - linkedit.fileOffset;
  view.setUint32(signature.command + 12, signed.length - limit, true);
  view.setBigUint64(linkedit.command + 32, BigInt(roundUp(inLinkedit, 4 * PAGE)), true);
  view.setBigUint64(linkedit.command + 48, BigInt(inLinkedit), true);

  const directory = limit + BLOB_AT;
  writeWords(view, limit, [SUPER_BLOB, length, 1, CODE_DIRECTORY_SLOT, BLOB_AT]);
  writeWords(view, directory, [
    CODE_DIRECTORY,
    length - BLOB_AT,
    DIRECTORY_VERSION,
    ADHOC | LINKER_SIGNED,
    hashesAt,
    DIRECTORY_BYTES, // where the identifier begins
    0, // special slots
    pages,
    limit,
    HASH_BYTES << 24 | SHA256 << 16 | PAGE_BITS,
  ]);
  view.setBigUint64(directory + 64, BigInt(text.fileOffset));
  view.setBigUint64(directory + 72, BigInt(text.fileSize));
  view.setBigUint64(directory + 80, BigInt(MAIN_BINARY));
  signed.set(name, directory + DIRECTORY_BYTES);
  for (let page = 0; page < pages; page++) {
    signed.set(hashOfPage(signed, page, limit), directory + hashesAt + page * HASH_BYTES);
  }
  return signed;
}

/**
 * Returns the number of page hashes in the executable's ad-hoc signature, each of them checked.
 * @throws Error when a hash is wrong, when the signature leaves bytes out or is not an ad-hoc one
 */
export function verifyAdHoc(executable: Uint8Array): number {
  const { signature: { offset: limit } } = readLayout(executable);
  const pages = Math.ceil(limit / PAGE);
  const view = viewOf(executable);
  const [magic, , count, slot, blobAt = 0] = readWords(view, limit, 5);
  const directory = limit + blobAt;
  const [kind, length = 0, , flags = 0, hashesAt = 0, , , slots, covered, form] = readWords(
    view,
    directory,
    10,
  );
  const isOneDirectory = magic === SUPER_BLOB && count === 1 && slot === CODE_DIRECTORY_SLOT &&
    kind === CODE_DIRECTORY;
  if (!isOneDirectory || (flags & ~LINKER_SIGNED) !== ADHOC) {
    throw new Error("Cannot verify the executable: its signature is not an ad-hoc one");
  }
  const isSha256 = form === (HASH_BYTES << 24 | SHA256 << 16 | PAGE_BITS);
  const isWhole = covered === limit && slots === pages && length >= hashesAt + pages * HASH_BYTES &&
    directory + length <= executable.length;
  if (!isSha256 || !isWhole) {
    throw new Error("Cannot verify the executable: its signature does not cover the whole file");
  }
  let wrong = 0;
  for (let page = 0; page < pages; page++) {
    const at = directory + hashesAt + page * HASH_BYTES;
    if (!hashOfPage(executable, page, limit).equals(executable.subarray(at, at + HASH_BYTES))) {
      wrong++;
    }
  }
  if (wrong === 0) return pages;
  throw new Error(`Cannot verify the executable: ${wrong} of ${pages} page hashes are wrong`);
}

interface Segment {
  /** Where the load command begins. */
  command: number;
  fileOffset: number;
  fileSize: number;
}

/** Finds the load commands that a signature depends on. */
function readLayout(executable: Uint8Array) {
  const view = viewOf(executable);
  if (executable.length < 32 || view.getUint32(0, true) !== MACHO_64) {
    throw new Error("Cannot read the executable: it is no 64-bit Mach-O file");
  }
  const segments = new Map<string, Segment>();
  let signature: { command: number; offset: number; size: number } | undefined;
  let command = 32;
  for (let left = view.getUint32(16, true); left > 0; left--) {
    const kind = view.getUint32(command, true);
    if (kind === LC_SEGMENT_64) {
      const name = String.fromCharCode(...executable.subarray(command + 8, command + 24));
      segments.set(name.replace(/\0.*$/s, ""), {
        command,
        fileOffset: Number(view.getBigUint64(command + 40, true)),
        fileSize: Number(view.getBigUint64(command + 48, true)),
      });
    } else if (kind === LC_CODE_SIGNATURE) {
      const offset = view.getUint32(command + 8, true);
      signature = { command, offset, size: view.getUint32(command + 12, true) };
    }
    command += view.getUint32(command + 4, true);
  }
  const linkedit = segments.get("__LINKEDIT");
  const text = segments.get("__TEXT");
  if (!signature || !linkedit || !text) {
    throw new Error("Cannot read the executable: it has no code signature to replace or check");
  }
  const end = signature.offset + signature.size;
  if (end !== executable.length || end !== linkedit.fileOffset + linkedit.fileSize) {
    throw new Error("Cannot read the executable: its code signature is not at its end");
  }
  return { signature, linkedit, text };
}

function hashOfPage(file: Uint8Array, page: number, limit: number): Buffer {
  const bytes = file.subarray(page * PAGE, Math.min((page + 1) * PAGE, limit));
  return createHash("sha256").update(bytes).digest();
}

/** The words of a signature are big-endian; those of the load commands are little-endian. */
function writeWords(view: DataView, at: number, words: number[]): void {
  words.forEach((word, index) => view.setUint32(at + index * 4, word));
}

function readWords(view: DataView, at: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => view.getUint32(at + index * 4));
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function roundUp(value: number, step: number): number {
  return Math.ceil(value / step) * step;
}
