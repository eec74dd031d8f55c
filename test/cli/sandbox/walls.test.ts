import { expect, test } from "vitest";
import { parseWall } from "../../../cli/sandbox/walls.ts";
import { CliError } from "../../../cli/errors.ts";

test("each kind of wall is read", () => {
  expect(parseWall("host:registry.example:443")).toEqual({
    kind: "host",
    host: "registry.example:443",
  });
  expect(parseWall("write:~/data")).toEqual({ kind: "writable", path: "~/data" });
  expect(parseWall("read:~/.toolrc")).toEqual({ kind: "readable", path: "~/.toolrc" });
});

test.each(["net", "host:", "hosts:a.example", "write", "--help", ""])(
  "the error about %j lists the walls that exist",
  (typed) => {
    const error = caught(() => parseWall(typed));
    expect(error).toBeInstanceOf(CliError);
    for (const wall of ["host:<name>", "write:<folder>", "read:<file>"]) {
      expect((error as CliError).message).toContain(wall);
    }
    expect((error as CliError).next).toBe("gate sandbox show");
  },
);

function caught(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}
