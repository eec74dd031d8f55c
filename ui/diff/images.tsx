import { useSignal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import type { ShownImage } from "../../server/actions/schema.ts";
import { Segmented } from "../parts/button.tsx";
import { Text } from "../parts/text.tsx";
import { bytesOf, number } from "../parts/words.ts";
import { api, explain, unwrap } from "../state/client.ts";

interface ImagesProps {
  /** The action whose files these are, and its project. */
  action: { id: string; project_id: string };
  /** The hashes of both contents; null where no file exists. */
  before: string | null;
  after: string | null;
}

type View = "sides" | "overlay" | "difference";

const VIEWS = [
  { value: "sides", label: "Side by side" },
  { value: "overlay", label: "Overlay" },
  { value: "difference", label: "Difference" },
] as const;

/** An image before and after an action: side by side, one over the other, or what differs. */
export default function Images({ action, before, after }: ImagesProps) {
  const old = useImage(action, before);
  const next = useImage(action, after);
  const view = useSignal<View>("sides");
  const isPair = isImage(old) && isImage(next);
  return (
    <div class="images">
      {isPair && (
        <Segmented
          label="Image view"
          value={view.value}
          options={VIEWS}
          onChange={(chosen) => view.value = chosen}
        />
      )}
      {isPair && view.value === "overlay"
        ? <Overlay old={old} next={next} />
        : isPair && view.value === "difference"
        ? <Difference old={old} next={next} />
        : (
          <div class="images-sides">
            {before !== null && <Side name="Now" image={old} />}
            {after !== null && <Side name="After" image={next} />}
          </div>
        )}
    </div>
  );
}

/** An image, why it cannot be shown, or null while it is read. */
type Loaded = ShownImage | { problem: string } | null;

function isImage(loaded: Loaded): loaded is ShownImage {
  return loaded !== null && "data" in loaded;
}

function useImage({ id, project_id }: ImagesProps["action"], sha256: string | null): Loaded {
  const loaded = useSignal<Loaded>(null);
  useEffect(() => {
    if (sha256 === null) return;
    let isCurrent = true;
    const keep = (found: Loaded) => {
      if (isCurrent) loaded.value = found;
    };
    loaded.value = null;
    const { images } = api(project_id).api.actions[":id"];
    unwrap(images[":sha256"].$get({ param: { id, sha256 } }))
      .then(keep, (error) => keep({ problem: explain(error) }));
    return () => {
      isCurrent = false;
    };
  }, [id, project_id, sha256]);
  return loaded.value;
}

function Side({ name, image }: { name: string; image: Loaded }) {
  return (
    <figure>
      <div class="images-box">
        {isImage(image)
          ? <Picture image={image} alt={name} />
          : image && <Text as="p" class="quiet" value={image.problem} />}
      </div>
      <figcaption class="small quiet">
        {name}
        {isImage(image) && `, ${factsOf(image)}`}
      </figcaption>
    </figure>
  );
}

function factsOf({ type, width, height, bytes }: ShownImage): string {
  const kind = type.replace("image/", "").toUpperCase();
  return `${number(width)} × ${number(height)}, ${kind}, ${bytesOf(bytes)}`;
}

/** The page's policy loads images from no address; the daemon has checked type and size. */
function Picture({ image, alt }: { image: ShownImage; alt: string }) {
  const { type, data, width, height } = image;
  return <img src={`data:${type};base64,${data}`} alt={alt} width={width} height={height} />;
}

interface PairProps {
  old: ShownImage;
  next: ShownImage;
}

/** The new image over the old one; a slider moves the border between them. */
function Overlay({ old, next }: PairProps) {
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const cut = useSignal(50);
  useEffect(() => box.current!.style.setProperty("--cut", `${cut.value}%`), [cut.value]);
  return (
    <div class="images-pair">
      <div class="images-box images-overlay" ref={box}>
        <Picture image={old} alt="Now" />
        <Picture image={next} alt="After" />
      </div>
      <label class="small quiet" for={id}>Now on the left of the border, after on its right</label>
      <input
        id={id}
        type="range"
        min="0"
        max="100"
        value={cut.value}
        onInput={(event) => cut.value = Number(event.currentTarget.value)}
      />
    </div>
  );
}

/** Both images with their colours subtracted: equal pixels are black. */
function Difference({ old, next }: PairProps) {
  return (
    <div class="images-pair">
      <div class="images-box images-difference">
        <Picture image={old} alt="Now" />
        <Picture image={next} alt="After" />
      </div>
      <p class="small quiet">Equal pixels are black.</p>
    </div>
  );
}
