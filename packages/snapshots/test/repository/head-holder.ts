import { headMemoryFile } from "../../src/repository/head-memory-file.ts";
import { writeSync } from "node:fs";

// Changes the memory of heads in the file of its argument, says so, and never ends.
const heads = new Map();
heads[Symbol.iterator] = () => {
  writeSync(1, "held");
  for (;;) Bun.sleepSync(1000);
};
await headMemoryFile(process.argv[2]!).remember(heads);
