import type { Command as CommanderCommand } from "commander";
import type { Does } from "./program.ts";
import { usage } from "../failures.ts";

/**
 * For the help alone: `idk bench` is handed on before a command line is parsed, for all behind it
 * is for the benchmarks to read.
 */
export function addBenchCommand(program: CommanderCommand, does: Does): void {
  program
    .command("bench")
    .summary("measure how fast it is on this machine")
    .description(
      "Measure against the bounds of this machine, and compare revisions. `idk bench --help` " +
        "tells of its flags.",
    )
    .argument("[args...]", "what `idk bench --help` tells of")
    .allowUnknownOption()
    .action(
      does(() =>
        Promise.reject(usage("`idk bench` comes first, and its flags behind it: idk bench --help")),
      ),
    );
}
