import type { Command as CommanderCommand } from "commander";
import { usage } from "../errors/failures.ts";
import type { ActionOf, StartSession } from "./actions.ts";
import { identityOption, recipientOption, recipientsFileOption, workersOption } from "./options.ts";

/**
 * For the help only: main.ts passes `idk bench` on before the command line is parsed, because the
 * benchmarks parse their own arguments.
 */
export function addBenchCommand(program: CommanderCommand, actionOf: ActionOf): void {
  program
    .command("bench")
    .summary("measure performance on this machine")
    .description(
      "Compare performance with the limits of this machine, or two revisions with each other. See " +
        "`idk bench --help`.",
    )
    .argument("[args...]", "see `idk bench --help`")
    .allowUnknownOption()
    .action(
      actionOf(() =>
        Promise.reject(
          usage("`idk bench` must come first, followed by its flags: idk bench --help"),
        ),
      ),
    );
}

export function addDoctorCommand(program: CommanderCommand, actionOf: ActionOf): void {
  program
    .command("doctor")
    .summary("diagnose problems with this setup")
    .description(
      "Check the runtime, the configuration, keys and their files, and the store, by writing, " +
        "reading and removing one small blob. Print what is wrong and how to fix it. Fails if a " +
        "check fails, but not for warnings.",
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
  { out }: StartSession,
): void {
  program
    .command("completion")
    .summary("print the completion script of a shell")
    .description("Print the script with which a shell completes commands, flags and stores.")
    .argument("<shell>", "bash, zsh or fish")
    .action(async (shell: string) => {
      const { SCRIPTS } = await import("../completion/scripts.ts");
      const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
      if (script === undefined) throw usage("SHELL must be bash, zsh or fish");
      await out.text(script);
    });
}
