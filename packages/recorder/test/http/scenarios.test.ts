import { test } from "bun:test";
import { scenarios } from "./scenarios.ts";

for (const { name, run } of scenarios) test(name, run);
