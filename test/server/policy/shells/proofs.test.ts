import { isAbsolute, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { prove } from "../../../../server/policy/prove/prove.ts";
import { commandsOf, type ProvedList } from "../../../../server/policy/prove/proved.ts";
import { listFolder, resolvePath } from "../../../../server/runtime/real_path.ts";
import { random } from "../interpret/disguise.ts";
import { Box, type Call, type Deed, pathOf, SHELLS } from "./box.ts";
import { randomText, staysInside } from "./texts.ts";

/** A larger slice with other texts: `GATE_FUZZ=100000 GATE_SEED=7`. */
const { GATE_FUZZ, GATE_SEED } = globalThis.process.env;
const COUNT = Number(GATE_FUZZ ?? 200);
const SEED = Number(GATE_SEED ?? 1);
const WORKERS = 2;

const installed = Object.keys(SHELLS).filter((shell) => pathOf(SHELLS[shell]![0]!) !== null);
const boxes = Array.from({ length: WORKERS }, () => new Box({ only_recorders: true }));
afterAll(() => boxes.forEach((box) => box.close()));

interface Miss {
  code: string;
  shell: string;
  others: string[];
}

test(
  `a shell runs of a proved text what is proved, or refuses it (GATE_SEED=${SEED}, ${COUNT} texts)`,
  async () => {
    console.log(`fuzz seed ${SEED}; shells: ${installed.join(", ")}`);
    const next = random(SEED);
    const misses: Miss[] = [];
    let [at, proved] = [0, 0];
    await Promise.all(boxes.map(async (box) => {
      const options = { cwd: box.root, user_home: box.home, list: listFolder };
      while (at < COUNT) {
        at++;
        const code = randomText(next);
        if (!staysInside(code)) continue;
        const proof = prove(code, options);
        if (!("proved" in proof)) continue;
        proved++;
        for (const shell of installed) {
          const deed = await box.run(shell, code);
          const ran = shell === "fish" ? deed.ran.flatMap(withoutColours) : deed.ran;
          const others = notProved(proof.proved, { ...deed, ran }, box);
          if (others.length === 0) continue;
          misses.push({ code, shell, others });
          console.error(JSON.stringify(misses.at(-1)));
        }
      }
    }));
    console.log(`proved: ${proved}`);
    expect(proved).toBeGreaterThan(0);
    expect(misses).toEqual([]);
  },
  6 * 3_600_000,
);

/** fish wraps `ls` and `grep` in functions that ask for colours, after a call to find out how. */
function withoutColours({ folder, argv }: Call): Call[] {
  const plain = argv.filter((word) => word !== "--color=auto");
  const is_question = plain.length < argv.length && /^(ls \/|grep )$/.test(plain.join(" "));
  return is_question ? [] : [{ folder, argv: plain }];
}

/** The calls and the written files of a run that the proof does not name, or not so often. */
function notProved(list: ProvedList, { ran, changed }: Deed, box: Box): string[] {
  const commands = commandsOf(list);
  const left = commands.flatMap(({ argv, folders }) =>
    folders.map((folder) => JSON.stringify([folder, ...argv]))
  );
  const calls = ran.flatMap(({ folder, argv }) => {
    const call = JSON.stringify([folder, ...argv]);
    const place = left.indexOf(call);
    if (place === -1) return [call];
    left.splice(place, 1);
    return [];
  });
  const written = new Set(
    commands.flatMap(({ redirects, folders }) =>
      redirects.flatMap((one) =>
        one.kind === "write" || one.kind === "append"
          ? folders.map((folder) => isAbsolute(one.path) ? one.path : join(folder, one.path))
            .map((path) => resolvePath(path).real)
          : []
      )
    ),
  );
  return [...calls, ...changed.filter((file) => !written.has(join(box.base, file)))];
}
