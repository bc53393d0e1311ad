import { join } from "node:path";
import { run } from "./processes.ts";

const CLI = join(import.meta.dir, "../../cli");

/** The command's sources, to be run by Bun. */
export const SOURCES: string = join(CLI, "src/main.ts");

/**
 * Makes the command as it is published, which is what people run.
 *
 * @returns the script, to be run by Bun
 * @throws Error where it cannot be made
 */
export async function publishedCommand(): Promise<string> {
  await run({ argv: [process.execPath, join(CLI, "bundle.ts")] });
  return join(CLI, "dist/main.cjs");
}
