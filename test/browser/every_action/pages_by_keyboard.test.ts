import { describe } from "vitest";
import { runDeeds } from "./run_deeds.ts";
import { PAGE_DEEDS } from "./tables.ts";

describe("with the executable, by keyboard alone", () => runDeeds("keyboard", PAGE_DEEDS));
