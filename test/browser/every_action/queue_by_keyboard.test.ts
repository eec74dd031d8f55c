import { describe } from "vitest";
import { runDeeds } from "./run_deeds.ts";
import { QUEUE_DEEDS } from "./tables.ts";

describe("with the executable, by keyboard alone", () => runDeeds("keyboard", QUEUE_DEEDS));
