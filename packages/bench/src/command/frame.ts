import { REPORT_SCHEMA } from "../report/report.ts";
import type { ReportHead } from "../report/table.ts";
import { fileURLToPath } from "node:url";
import manifest from "../../package.json" with { type: "json" };
import { output } from "../compare/program.ts";
import { thisMachine } from "../harness/machine.ts";

/** Looks at the machine, and at what is about to be measured. */
export async function describeRun(
  quick: boolean,
  signal: AbortSignal,
): Promise<Omit<ReportHead, "calibration">> {
  const revision = await revisionOf(signal);
  return {
    schema: REPORT_SCHEMA,
    createdAt: new Date().toISOString(),
    version: manifest.version,
    ...(revision !== undefined && { revision }),
    machine: await thisMachine(),
    quick,
  };
}

async function revisionOf(signal: AbortSignal): Promise<string | undefined> {
  const cwd = fileURLToPath(new URL("../../", import.meta.url));
  const git = (...args: string[]): Promise<string> =>
    output({ argv: ["git", ...args], cwd, signal });
  try {
    // Installed below a repository of somebody else, its commits say nothing of this package.
    await git("ls-files", "--error-unmatch", "package.json");
    const commit = (await git("rev-parse", "HEAD")).trim();
    const changed = await git("status", "--porcelain", "--untracked-files=no");
    return changed === "" ? commit : `${commit}-dirty`;
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}
