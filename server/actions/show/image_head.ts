/** The type and size of an image, as its first bytes tell them. */
interface ImageHead {
  type: "image/png" | "image/jpeg" | "image/gif" | "image/webp";
  width: number;
  height: number;
}

/**
 * Reads the head of a PNG, JPEG, GIF or WebP; null for everything else, such as SVG, which can hold
 * scripts.
 */
export function readImageHead(content: Uint8Array): ImageHead | null {
  const view = new DataView(content.buffer, content.byteOffset, content.byteLength);
  try {
    const found = png(view) ?? gif(view) ?? webp(view) ?? jpeg(view);
    return found && found.width > 0 && found.height > 0 ? found : null;
  } catch (error) {
    // A DataView throws this beyond the end: the head is cut off.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function png(view: DataView): ImageHead | null {
  if (view.getUint32(0) !== 0x89504e47 || view.getUint32(4) !== 0x0d0a1a0a) return null;
  if (textAt(view, 12, 4) !== "IHDR") return null;
  return { type: "image/png", width: view.getUint32(16), height: view.getUint32(20) };
}

function gif(view: DataView): ImageHead | null {
  if (!/^GIF8[79]a$/.test(textAt(view, 0, 6))) return null;
  return { type: "image/gif", width: view.getUint16(6, true), height: view.getUint16(8, true) };
}

function webp(view: DataView): ImageHead | null {
  if (textAt(view, 0, 4) !== "RIFF" || textAt(view, 8, 4) !== "WEBP") return null;
  const type = "image/webp";
  const kind = textAt(view, 12, 4);
  if (kind === "VP8X") {
    const side = (at: number) => 1 + (view.getUint32(at, true) & 0xffffff);
    return { type, width: side(24), height: side(27) };
  }
  if (kind === "VP8L" && view.getUint8(20) === 0x2f) {
    const bits = view.getUint32(21, true);
    return { type, width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) };
  }
  if (kind === "VP8 " && view.getUint16(23) === 0x9d01 && view.getUint8(25) === 0x2a) {
    const side = (at: number) => view.getUint16(at, true) & 0x3fff;
    return { type, width: side(26), height: side(28) };
  }
  return null;
}

/** The size stands in the first frame header, behind segments of any length. */
function jpeg(view: DataView): ImageHead | null {
  if (view.getUint16(0) !== 0xffd8) return null;
  let at = 2;
  for (let segments = 0; segments < MOST_SEGMENTS; segments++) {
    if (view.getUint8(at) !== 0xff) return null;
    const marker = view.getUint8(at + 1);
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    if (isFrame(marker)) {
      return { type: "image/jpeg", width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    }
    // The compressed data begins, or the image ends, without a frame.
    if (marker === 0xda || marker === 0xd9) return null;
    at += 2 + view.getUint16(at + 2);
  }
  return null;
}

const MOST_SEGMENTS = 10_000;

/** SOF0 to SOF15 without the tables and the arithmetic condition between them. */
function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
}

function textAt(view: DataView, at: number, length: number): string {
  let text = "";
  for (let next = at; next < at + length; next++) text += String.fromCharCode(view.getUint8(next));
  return text;
}
