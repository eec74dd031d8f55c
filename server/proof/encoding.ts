/** The text as UTF-8. */
export function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

/** The bytes in lowercase hex. */
export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Lowercase hex of the SHA-256 of a text or of bytes, on every runtime and in browsers. */
export async function sha256Hex(data: string | Uint8Array<ArrayBuffer>): Promise<string> {
  const bytes = typeof data === "string" ? utf8(data) : data;
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/** The bytes as base64url without padding. */
export function toBase64Url(bytes: Uint8Array): string {
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The bytes of base64url without padding; null for any other text. */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    const bytes = fromBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
    // The same bytes have several spellings; only the canonical one is accepted.
    return toBase64Url(bytes) === text ? bytes : null;
  } catch {
    return null;
  }
}

/** The bytes of base64. @throws DOMException for any other text */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}
