#!/usr/bin/env -S bun --no-env-file --no-install --config=/dev/null --tsconfig-override=/dev/null
import { OVERVIEW } from "./command-line/overview.ts";
import { runtimeFault, versionLine } from "./version.ts";

/**
 * Static imports are limited to what `idk --version` and `idk --help` need, so that they print as
 * fast as the runtime starts.
 */
async function main(args: readonly string[]): Promise<void> {
  if (args.length === 1 && (args[0] === "--version" || args[0] === "-V")) {
    // process.stdout would take longer to load than everything else.
    console.log(versionLine());
  } else if (
    args.length === 1 &&
    (args[0] === "--help" || args[0] === "-h" || args[0] === "help")
  ) {
    console.log(OVERVIEW.trimEnd());
  } else {
    const fault = runtimeFault(Bun.version);
    if (fault !== undefined) refuse(fault, args.includes("--json"));
    await runCommand(args);
  }
}

/** Prints the same as run.ts, with code that any runtime can run. */
function refuse(message: string, asJson: boolean): never {
  console.error(asJson ? JSON.stringify({ error: { code: "usage", message } }) : `idk: ${message}`);
  process.exit(2);
}

async function runCommand(args: readonly string[]): Promise<void> {
  if (args[0] === "bench") {
    // Before anything else parses arguments or handles signals: the benchmarks do both.
    const { bench } = await import("./bench.ts");
    process.exit(await bench(args.slice(1)));
  } else {
    const { run } = await import("./run.ts");
    // Exit explicitly, because a pending read of standard input would keep the process alive.
    process.exit(await run(args, process.env));
  }
}

// Not awaited: the bundle is a script, and scripts have no top-level await.
void main(process.argv.slice(2));
