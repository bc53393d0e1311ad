import type { Command as CommanderCommand } from "commander";
import { usage } from "../errors/failures.ts";
import type { ActionOf, Start } from "./actions.ts";
import { identityOption, recipientOption, recipientsFileOption, workersOption } from "./options.ts";

/**
 * For the help alone: `idk bench` is handed on before a command line is parsed, for all behind it
 * is for the benchmarks to read.
 */
export function addBenchCommand(program: CommanderCommand, actionOf: ActionOf): void {
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
      actionOf(() =>
        Promise.reject(usage("`idk bench` comes first, and its flags behind it: idk bench --help")),
      ),
    );
}

/** What looks at everything that other commands rest on. */
export function addDoctorCommand(program: CommanderCommand, actionOf: ActionOf): void {
  program
    .command("doctor")
    .summary("look for what is wrong with this setup")
    .description(
      "Look at the runtime, the configuration, keys and their files, and the store, which one small " +
        "blob goes through and is removed from again; say what is wrong and what to do about it. " +
        "Fails if anything is, and not for warnings.",
    )
    .option("--read-only", "write nothing to the store")
    .addOption(identityOption())
    .addOption(recipientOption())
    .addOption(recipientsFileOption())
    .addOption(workersOption())
    .action(actionOf(async () => (await import("../commands/doctor.ts")).doctor));
}

export function addCompletionCommand(
  program: CommanderCommand,
  _actionOf: ActionOf,
  { out }: Start,
): void {
  program
    .command("completion")
    .summary("complete commands, flags and stores in a shell")
    .description("Print what a shell has to read to complete this command: see the examples.")
    .argument("<shell>", "bash, zsh or fish")
    .action(async (shell: string) => {
      const { SCRIPTS } = await import("../completion/scripts.ts");
      const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
      if (script === undefined) throw usage("SHELL must be bash, zsh or fish");
      await out.text(script);
    });
}
