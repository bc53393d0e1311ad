#!/usr/bin/env bun
/**
 * The command line of the benchmarks. `idk bench` starts it; without the command:
 *
 *     bun packages/bench/src/main.ts --help
 */
import { benchCommand } from "./command/bench-command.ts";
import { abortOnSignals, describeRun } from "./command/context.ts";
import { EXIT_CODES } from "./command/usage.ts";
import { suites } from "./suites.ts";

const { stdout, stderr } = process;
// A reader that closes standard output wants no more; a closed standard error is ignored.
stdout.on("error", () => process.exit(EXIT_CODES.brokenPipe));
stderr.on("error", () => {});

const code = await benchCommand(process.argv.slice(2), {
  suites,
  env: process.env,
  stdout: {
    isTTY: stdout.isTTY,
    columns: stdout.columns,
    print: (text) => new Promise((resolve) => void stdout.write(text, () => resolve())),
  },
  stderr,
  signal: abortOnSignals((line) => void stderr.write(`${line}\n`)),
  describeRun,
});
// Exit explicitly, because an open connection would keep the process alive.
process.exit(code);
