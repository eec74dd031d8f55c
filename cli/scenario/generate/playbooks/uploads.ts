import { type Draft, nameOf } from "../family.ts";
import { encodeForm, type FilePart, isFile, isForm, isPicture } from "../multipart.ts";
import { bodyFields, objectSample, type Operation, plain, sampleRequest } from "../operation.ts";
import { tell } from "./resource.ts";

const PAGE: FilePart = {
  filename: "sample.html",
  type: "text/html",
  content: "<script>alert(document.domain)</script>",
};

/** A page with a script in the place of a picture. */
export function pageAsPicture(operation: Operation): Draft[] {
  if (!isForm(operation.body?.content_type ?? "")) return [];
  const field = bodyFields(operation).find(([name, schema]) => isFile(schema) && isPicture(name));
  if (!field) return [];
  const [name] = field;
  const request = sampleRequest(operation);
  return [tell(operation, {
    family: "page_as_picture",
    title: `Uploading a page as "${name}" to ${nameOf(operation)}`,
    who: "A user uploads a page with a script as the own picture, and sends its address around.",
    steps: [`Send ${nameOf(operation)} with a picture`, "Send it with an HTML page"],
    chaos: ["The service believes the name and the type of the file"],
    expected: "Only pictures are taken.",
    failures: ["The page runs its script with the rights of everybody who opens it"],
    priority: "critical",
  }, {
    steps: [
      { ...request, name: "with a picture", setup: true, expect: ["2xx"] },
      {
        ...request,
        name: "with a page",
        body: encodeForm({ ...objectSample(operation), [name]: PAGE }, plain),
        refuses: true,
      },
    ],
  })];
}
