import process from "node:process";
import { confine } from "./confine.ts";

await confine(process.argv.slice(2));
