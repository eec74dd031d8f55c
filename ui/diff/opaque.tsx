import type { ActionDetail } from "../../server/actions/schema.ts";
import { useLazy, Waiting } from "../parts/placeholder.tsx";
import { bytesOf } from "../parts/words.ts";
import { FileFrame } from "./file_frame.tsx";

interface OpaqueProps {
  action: { id: string; project_id: string; contents_dropped_at?: string | null };
  file:
    & { path: string | null }
    & Pick<ActionDetail, "before" | "after" | "before_sha256" | "after_sha256">;
  /** Whether it is text that is too large to show. */
  isLarge: boolean;
}

/** Shows size and hash of a file that is not text, or too large. */
export function Opaque({ action, file, isLarge }: OpaqueProps) {
  const rows = [
    { name: "Now", side: file.before, hash: file.before_sha256 },
    { name: "After", side: file.after, hash: file.after_sha256 },
  ];
  const fact = action.contents_dropped_at
    ? "dropped because of its age"
    : isLarge
    ? "too large to show here"
    : "not text: compare size and hash";
  return (
    <FileFrame path={file.path} facts={[fact]}>
      {IMAGE.test(file.path ?? "") && <LazyImages action={action} file={file} />}
      <table class="opaque">
        <thead>
          <tr>
            <th scope="col">Version</th>
            <th scope="col" class="opaque-size">Size</th>
            <th scope="col">SHA-256</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, side, hash }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{side ? bytesOf(side.bytes) : "no file"}</td>
              <td class="code-text">{hash ?? "none"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </FileFrame>
  );
}

/** The name only decides whether the page asks; the daemon looks at the content. */
const IMAGE = /\.(?:png|jpe?g|gif|webp)$/i;

const loadImages = () => import("./images.tsx");

function LazyImages({ action, file }: Pick<OpaqueProps, "action" | "file">) {
  const { value, failed } = useLazy(loadImages, "card");
  const Images = value?.default;
  if (!Images) return <Waiting failed={failed} />;
  return <Images action={action} before={file.before_sha256} after={file.after_sha256} />;
}
