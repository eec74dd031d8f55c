import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Button } from "../parts/button.tsx";
import { announce } from "../parts/toast.tsx";
import { bytesOf } from "../parts/words.ts";
import { api, explain, ProblemError } from "../state/client.ts";
import { useWorkspace } from "../state/project.ts";
import type { Filter } from "./filters.tsx";

type Format = "json" | "csv" | "bundle";

interface ExportsProps {
  project: string | null;
  filter: Filter;
}

/** Exports what the filters choose, or the whole log as a bundle. */
export function Exports({ project, filter }: ExportsProps) {
  const { running, start, stop } = useExport(project, filter);
  const now = running.value;
  if (now !== null) {
    return (
      <div class="room-buttons" role="status">
        <span class="quiet">
          Exporting as {now.format.toUpperCase()}: {bytesOf(now.bytes)} so far
        </span>
        <Button icon="x" onClick={stop}>Stop</Button>
      </div>
    );
  }
  const isFiltered = Object.keys(filter).length > 0;
  const what = isFiltered ? "the events that the filters choose" : "every event";
  return (
    <div class="room-buttons">
      <Button icon="list" title={`Export ${what} with their proof`} onClick={() => start("json")}>
        Export JSON
      </Button>
      <Button icon="list" title={`Export ${what} as a table`} onClick={() => start("csv")}>
        Export CSV
      </Button>
      {project !== null && (
        <Button
          icon="shield"
          title="Export the whole log as a page that checks itself, without gate"
          onClick={() => start("bundle")}
        >
          Export a bundle
        </Button>
      )}
      <span class="quiet small">
        {isFiltered ? "JSON and CSV follow the filters" : "JSON and CSV hold every event"}
        {project !== null && "; a bundle is a page with the whole log that checks itself"}.
      </span>
    </div>
  );
}

function useExport(project: string | null, filter: Filter) {
  const running = useSignal<{ format: Format; bytes: number } | null>(null);
  const turn = useRef<AbortController | null>(null);
  const workspace = useWorkspace()?.id;
  useEffect(() => () => turn.current?.abort(), []);
  const start = async (format: Format) => {
    if (running.peek() !== null) return;
    const ended = turn.current = new AbortController();
    running.value = { format, bytes: 0 };
    try {
      const response = await request(project, format, filter, workspace);
      const hear = (bytes: number) => running.value = { format, bytes };
      const file = await read(response, ended.signal, hear);
      save(file, nameOf(project, format));
      announce({ text: `Exported ${bytesOf(file.size)}`, tone: "ok" }, null);
    } catch (error) {
      if (!ended.signal.aborted) announce({ text: explain(error), tone: "danger" }, null);
    } finally {
      running.value = null;
    }
  };
  return {
    running,
    start: (format: Format) => void start(format),
    stop: () => turn.current?.abort(),
  };
}

async function request(
  project: string | null,
  format: Format,
  filter: Filter,
  workspace: string | undefined,
): Promise<Response> {
  const chosen = format === "bundle" ? {} : filter as Record<string, string>;
  const query = { ...chosen, format } as Record<string, string>;
  const response = project === null
    ? await api().api.global.audit.export.$get({
      query: { ...query, ...workspace && { workspace } },
    })
    : await api(project).api.audit.export.$get({ query });
  if (!response.ok) throw new ProblemError(await response.json() as never);
  return response as unknown as Response;
}

/** Reads the body and tells how much came. @throws when it is cut off or stopped */
async function read(
  response: Response,
  ended: AbortSignal,
  hear: (bytes: number) => void,
): Promise<Blob> {
  const reader = response.body!.getReader();
  const stop = () => void reader.cancel().catch(() => {});
  ended.addEventListener("abort", stop);
  const parts: BlobPart[] = [];
  let bytes = 0;
  for (let told = 0;;) {
    const { value, done } = await reader.read();
    ended.throwIfAborted();
    if (done) break;
    parts.push(value);
    bytes += value.length;
    if (performance.now() - told < 100) continue;
    told = performance.now();
    hear(bytes);
  }
  return new Blob(parts, { type: response.headers.get("content-type") ?? "" });
}

function save(file: Blob, name: string): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has taken the file by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

const ENDINGS: Record<Format, string> = { json: "json", csv: "csv", bundle: "html" };

function nameOf(project: string | null, format: Format): string {
  const day = new Date().toISOString().slice(0, 10);
  const safe = (project ?? "all").replace(/[^A-Za-z0-9._-]/g, "_");
  return `gate-audit-${safe}-${day}.${ENDINGS[format]}`;
}
