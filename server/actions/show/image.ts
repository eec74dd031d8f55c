import { readBlob, sizeOfBlob } from "../../db/blobs.ts";
import { GateError } from "../../errors.ts";
import { type ActionServices, loadAction } from "../context.ts";
import type { ShownImage } from "../schema.ts";
import { readImageHead } from "./image_head.ts";

/** A larger image is not shown. */
const MAX_BYTES = 4 * 1024 * 1024;
/** A page decodes an image whole: a small file can hold a huge one. */
const MAX_SIDE = 16_384;
const MAX_PIXELS = 32 * 1024 * 1024;

/**
 * A file of an action as an image, by the hash of its content. Its first bytes decide the type.
 * @throws GateError `not_found` when the action has no such file or it is no image, `too_large`
 */
export async function imageOf(
  services: ActionServices,
  id: string,
  sha256: string,
): Promise<ShownImage> {
  const { plan } = await loadAction(services, id);
  const plans = [plan, ...(plan?.lease?.steps ?? []).map((step) => step.plan)];
  const states = plans.flatMap((one) => one?.changes ?? [])
    .flatMap(({ before, after }) => [before, after]);
  const bytes = states.some((state) => state?.sha256 === sha256)
    ? await sizeOfBlob(services.ledger, sha256)
    : null;
  if (bytes === null) throw noContent();
  if (bytes > MAX_BYTES) throw tooLarge(`it has more than ${MAX_BYTES} bytes`);
  const content = await readBlob(services.ledger, sha256);
  // Retention may drop it between the two reads.
  if (content === null) throw noContent();
  const head = readImageHead(content);
  if (head === null) {
    throw new GateError(
      "not_found",
      "Cannot show the image: the file is no PNG, JPEG, GIF or WebP; compare size and hash",
    );
  }
  const { width, height } = head;
  if (width > MAX_SIDE || height > MAX_SIDE || width * height > MAX_PIXELS) {
    throw tooLarge(`it is ${width} × ${height} pixels large`);
  }
  return { ...head, bytes, data: Buffer.from(content).toString("base64") };
}

function noContent(): GateError {
  return new GateError("not_found", "Cannot show the image: the action has no such content");
}

function tooLarge(why: string): GateError {
  return new GateError("too_large", `Cannot show the image: ${why}; compare size and hash`);
}
