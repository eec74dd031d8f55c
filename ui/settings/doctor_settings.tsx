import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { DoctorState, Finding, Remedy, Repair } from "../../server/doctor/schema.ts";
import { Button } from "../parts/button.tsx";
import { CopyButton } from "../parts/copy.tsx";
import { Icon } from "../parts/icon.tsx";
import { Problem } from "../parts/problem.tsx";
import { Skeleton } from "../parts/placeholder.tsx";
import { Code, Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { announce } from "../parts/toast.tsx";
import { count } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { api, explain, unwrap } from "../state/client.ts";
import { useBusy } from "../state/read.ts";

/** The findings of `gate doctor`, each with a button that repairs it or the command for a terminal. */
export function DoctorSettings() {
  const { state, problem, busy, check } = useDoctor();
  const findings = state?.report?.findings ?? null;
  return (
    <section class="settings" aria-labelledby="settings-checks">
      <h2 id="settings-checks">Checks</h2>
      <p class="quiet">
        The daemon runs <code>gate doctor</code>{" "}
        on this machine. No button here lets an agent do more.
      </p>
      <Problem problem={problem} />
      {findings === null
        ? problem === null && <Skeleton lines={4} />
        : <Findings findings={findings} onRepaired={check} />}
      <div class="room-buttons">
        <Button busy={busy} onClick={check}>{busy ? "Checking" : "Check again"}</Button>
        {state?.checked_at && (
          <span class="quiet small">
            checked <Ago at={state.checked_at} said />
          </span>
        )}
      </div>
    </section>
  );
}

/** The newest report. The first visit, and each repair, runs the checks. */
function useDoctor() {
  const state = useSignal<DoctorState | null>(null);
  const problem = useSignal<string | null>(null);
  const { busy, run } = useBusy();
  const attempt = async (read: () => Promise<DoctorState>) => {
    try {
      state.value = await read();
      problem.value = null;
    } catch (error) {
      problem.value = explain(error);
    }
  };
  const check = () =>
    void run(() => attempt(async () => await unwrap(api().api.doctor.runs.$post({ json: {} }))));
  useEffect(() => {
    void attempt(async () => await unwrap(api().api.doctor.$get()))
      .then(() => isOld(state.peek()) && check());
  }, []);
  return { state: state.value, problem: problem.value, busy: busy.value, check };
}

const OLD_MS = 10 * 60_000;

function isOld(state: DoctorState | null): boolean {
  const at = state?.checked_at ?? null;
  return at === null || Math.abs(Date.now() - Date.parse(at)) > OLD_MS;
}

function Findings({ findings, onRepaired }: { findings: Finding[]; onRepaired: () => void }) {
  const open = findings.filter(({ level }) => level === "problem")
    .concat(findings.filter(({ level }) => level === "warning"));
  const good = findings.filter(({ level }) => level === "ok");
  return (
    <>
      {open.length === 0 && (
        <p>
          <span class="badge tone-ok">
            <Icon name="check" />
            No problems were found
          </span>
        </p>
      )}
      <ul class="room-list" aria-label="Findings">
        {open.map((one) => (
          <FindingRow key={`${one.check} ${one.message}`} finding={one} onRepaired={onRepaired} />
        ))}
      </ul>
      <details class="settings-good">
        <summary>{count(good.length, "check")} found nothing</summary>
        <dl class="settings-facts">
          {good.map(({ check, message }) => (
            <>
              <dt>{check}</dt>
              <dd>
                <Text value={message} />
              </dd>
            </>
          ))}
        </dl>
      </details>
    </>
  );
}

const LEVELS = {
  ok: { icon: "check", tone: "ok", word: "fine" },
  warning: { icon: "alert", tone: "warn", word: "warning" },
  problem: { icon: "octagon", tone: "danger", word: "problem" },
} as const;

function FindingRow({ finding, onRepaired }: { finding: Finding; onRepaired: () => void }) {
  const { check, level, message, fix, repair } = finding;
  const { icon, tone, word } = LEVELS[level];
  return (
    <li class="room-row settings-finding">
      <div class="room-row-what">
        <p class="small quiet">
          <span class={`badge tone-${tone}`}>
            <Icon name={icon} />
            {word}
          </span>{" "}
          {check}
        </p>
        <Text as="p" value={message} />
      </div>
      {repair?.kind === "page"
        ? <PageLink remedy={repair} />
        : repair && <RepairButton repair={repair} onRepaired={onRepaired} />}
      {fix !== null && <Fix fix={fix} isOnly={repair === null} />}
    </li>
  );
}

/** The command for a terminal. A sentence that holds no single command is shown without a button. */
function Fix({ fix, isOnly }: { fix: string; isOnly: boolean }) {
  if (!COMMAND.test(fix)) return <Text as="p" class="quiet settings-fix" value={fix} />;
  return (
    <div class="settings-fix">
      <span class="quiet">{isOnly ? "In a terminal:" : "Or in a terminal:"}</span>{" "}
      <Code value={fix} />
      <CopyButton value={fix} kind="quiet">Copy</CopyButton>
    </div>
  );
}

/** A whole command line, not a sentence that names some. */
const COMMAND = /^(?:gate|cd|chmod|mv|rm|sudo) (?!.*(?:, |; then ))/;

const PAGES = {
  audit: "/audit",
  policy: "/policy",
  projects: "/projects",
  remediation: "/remediation",
  sessions: "/sessions",
  settings: "/settings",
} as const satisfies Record<Remedy["page"], string>;

function PageLink({ remedy: { page, project } }: { remedy: Remedy }) {
  const address = useAddress();
  if (page === "settings") {
    return <a class="button button-plain" href="#settings-proof">Set a proof</a>;
  }
  const name = page.charAt(0).toUpperCase() + page.slice(1);
  const href = address.href(PAGES[page], { ...project !== null && { project, scope: null } });
  return <a class="button button-plain" href={href}>Open {name}</a>;
}

function RepairButton({ repair, onRepaired }: { repair: Repair; onRepaired: () => void }) {
  const { busy, run } = useBusy();
  const change = () =>
    void run(async () => {
      try {
        const { files } = await unwrap(api().api.doctor.repairs.$post({ json: repair }));
        announce({ text: said(files), tone: "ok" }, null);
        onRepaired();
      } catch (error) {
        announce({ text: explain(error), tone: "danger" }, null);
      }
    });
  return <Button kind="primary" busy={busy.value} onClick={change}>{verbOf(repair)}</Button>;
}

function verbOf(repair: Repair): string {
  if (repair.kind === "home") return "Make it private";
  if (repair.kind === "instructions") return "Update the instructions";
  return repair.enforce ? `Install the hooks` : `Write the entry`;
}

function said(files: { path: string; backup: string | null }[]): string {
  const [first] = files;
  if (first === undefined) return "Nothing had to be changed.";
  const more = files.length > 1 ? ` and ${count(files.length - 1, "more file")}` : "";
  const kept = files.some(({ backup }) => backup !== null) ? "; gate kept the old text" : "";
  return `Changed ${first.path}${more}${kept}.`;
}
