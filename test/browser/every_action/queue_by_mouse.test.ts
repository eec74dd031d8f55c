import { describe } from "vitest";
import { runDeeds } from "./run_deeds.ts";
import { QUEUE_DEEDS } from "./tables.ts";

describe("with the executable, by mouse alone", () => runDeeds("mouse", QUEUE_DEEDS));
