import process from "node:process";
import { relay } from "./relay.ts";

relay(process.argv[2]!, Number(process.argv[3]));
