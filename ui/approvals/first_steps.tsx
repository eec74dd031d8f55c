import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { CopyButton } from "../parts/copy.tsx";
import { Icon } from "../parts/icon.tsx";
import { useAddress } from "../state/address.ts";
import { api, unwrap } from "../state/client.ts";
import { rereadMachine, useLive } from "../state/live.ts";
import { useProjects } from "../state/project.ts";
import { proof } from "../state/proof.ts";

interface Progress {
  hasSession: boolean;
  hasAction: boolean;
}

/**
 * The steps from nothing to the first held action, each ticked as soon as it is done; `children` once
 * an agent has submitted an action.
 */
export function FirstSteps({ children }: { children: ComponentChildren }) {
  const address = useAddress();
  const progress = useProgress();
  const { length: registered } = useProjects();
  useEffect(() => {
    if (registered > 0) return;
    // The registration of a first project is no event of a ledger.
    const timer = setInterval(rereadMachine, LOOK_MS);
    return () => clearInterval(timer);
  }, [registered > 0]);
  if (progress === null) return null;
  if (progress.hasAction) return <>{children}</>;
  const status = proof.value;
  const steps: Step[] = [
    {
      title: "Choose how you approve",
      isDone: status !== null && (status.kind !== "none" || status.open === true),
      body: (
        <>
          <p>A passphrase or a passkey, so that no agent can approve for you.</p>
          <p>
            <a href={address.href("/settings")}>Choose in Settings</a>
          </p>
        </>
      ),
    },
    {
      title: "Put a project behind gate",
      isDone: registered > 0,
      body: (
        <>
          <p>
            In its folder; it asks a few questions and writes the rules to{" "}
            <code>gate.config.json</code>:
          </p>
          <Command text="gate init" />
        </>
      ),
    },
    {
      title: "Connect your agent",
      isDone: progress.hasSession,
      body: (
        <>
          <p>
            This registers gate in the agents of this machine. Or let{" "}
            <a href={address.href("/settings")}>the checks in Settings</a> do it.
          </p>
          <Command text="gate global-setup" />
          <p>Then start your agent again, in the folder of the project.</p>
        </>
      ),
    },
    {
      title: "Let it work",
      isDone: false,
      body: (
        <>
          <p>Ask the agent for something that no rule allows:</p>
          <Command text="Write hello to notes.md with gate’s tool write_file" />
          <p>The action appears here, and the agent waits for your decision.</p>
        </>
      ),
    },
  ];
  const next = steps.findIndex(({ isDone }) => !isDone);
  return (
    <section class="first-steps">
      <h2>Your first held action</h2>
      <ol>
        {steps.map((step, at) => (
          <li
            key={step.title}
            class={step.isDone ? "is-done" : ""}
            aria-current={at === next ? "step" : undefined}
          >
            <span class="first-steps-mark">
              {step.isDone
                ? (
                  <>
                    <Icon name="check" />
                    <span class="visually-hidden">Done</span>
                  </>
                )
                : at + 1}
            </span>
            <div>
              <h3>{step.title}</h3>
              {!step.isDone && step.body}
            </div>
          </li>
        ))}
      </ol>
      <p class="quiet">
        <code>gate demo</code> shows a hold, an approval, a block and a rollback in a terminal.
      </p>
    </section>
  );
}

/** A text for a terminal or an agent, with a button that copies it. */
function Command({ text }: { text: string }) {
  return (
    <p class="first-steps-command">
      <code>{text}</code>
      <CopyButton value={text} kind="quiet">Copy</CopyButton>
    </p>
  );
}

const LOOK_MS = 2_000;

interface Step {
  title: string;
  isDone: boolean;
  body: ComponentChildren;
}

/** What agents have done in the shown projects; null until it is known. */
function useProgress(): Progress | null {
  const progress = useSignal<Progress | null>(null);
  const ids = useProjects().map(({ id }) => id);
  useLive(ids.join(), async (late) => {
    const found = await Promise.all(ids.map(progressOf)).catch(() => null);
    if (late.aborted || found === null) return;
    progress.value = {
      hasSession: found.some(({ hasSession }) => hasSession),
      hasAction: found.some(({ hasAction }) => hasAction),
    };
  }, ({ topic }) => topic === "sessions" || topic === "actions");
  return progress.value;
}

async function progressOf(id: string): Promise<Progress> {
  const { actions, sessions } = api(id).api;
  const query = { limit: "1" };
  const [acted, opened] = await Promise.all([
    unwrap<{ items: unknown[] } | { count: number }>(actions.$get({ query })),
    unwrap(sessions.$get({ query })),
  ]);
  return {
    hasSession: opened.items.length > 0,
    hasAction: "items" in acted && acted.items.length > 0,
  };
}
