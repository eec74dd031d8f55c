import { expect, test, vi } from "vitest";
import type { Io } from "../../../cli/io.ts";
import { withoutSpinner, withSpinner } from "../../../cli/terminal/prompts.ts";

test("a question hides the spinner of the work that needs the answer", async () => {
  vi.useFakeTimers();
  try {
    const written: string[] = [];
    const io = {
      stderr: { isTTY: true, columns: 20, write: (text: string) => written.push(text) },
    };
    const shown = () => written.splice(0).join("").replaceAll("\r\x1b[2K", "~");
    const terminal = io as unknown as Io;
    const wait = (ms: number) => vi.advanceTimersByTimeAsync(ms);
    await withSpinner(terminal, "Moving", async (tell) => {
      await wait(1_000);
      tell("half of a long way");
      await wait(130);
      expect(shown()).toBe("~◒  Moving~◐  Moving: half of…");
      await withoutSpinner(terminal, () => wait(5_000));
      expect(shown()).toBe("~");
      await wait(1_000);
      expect(shown()).toBe("~◒  Moving: half of…");
      await withSpinner(terminal, "Starting", () => wait(1_000));
      expect(shown()).toBe("~~◒  Starting~");
      await wait(1_000);
      expect(shown()).toBe("~◒  Moving: half of…");
    });
    await wait(5_000);
    expect(shown()).toBe("~");
  } finally {
    vi.useRealTimers();
  }
});
