#!/usr/bin/env bun
import { OVERVIEW } from "./command-line/overview.ts";
import { runtimeFault, versionLine } from "./version.ts";

/**
 * Nothing is imported statically that `idk --version` and `idk --help` do not need: they answer as
 * fast as the runtime starts.
 */
async function main(args: readonly string[]): Promise<void> {
  if (args.length === 1 && (args[0] === "--version" || args[0] === "-V")) {
    // Not process.stdout, whose streams take longer to load than all the rest.
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

/** As any failure is reported, by the little that runs anywhere. */
function refuse(message: string, asJson: boolean): never {
  console.error(asJson ? JSON.stringify({ error: { code: "usage", message } }) : `idk: ${message}`);
  process.exit(2);
}

async function runCommand(args: readonly string[]): Promise<void> {
  if (args[0] === "bench") {
    // Before anything else reads the arguments, or listens for signals: both are for the benchmarks.
    const { bench } = await import("./bench.ts");
    process.exit(await bench(args.slice(1)));
  } else {
    const { run } = await import("./run.ts");
    // An explicit exit, because a read of standard input that nobody waits for any more would keep
    // the process alive.
    process.exit(await run(args, process.env));
  }
}

// Not awaited: bytecode is made of scripts, in which nothing can be awaited at the top.
void main(process.argv.slice(2));
