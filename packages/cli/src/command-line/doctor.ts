import type { Command as CommanderCommand } from "commander";
import type { Does } from "./program.ts";
import { identityOption, recipientOption, recipientsFileOption, workersOption } from "./options.ts";

/** What looks at everything that other commands rest on. */
export function addDoctorCommand(program: CommanderCommand, does: Does): void {
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
    .action(does(async () => (await import("../commands/doctor.ts")).doctor));
}
