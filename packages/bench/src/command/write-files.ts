import { access, constants, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { renderMarkdown } from "../report/markdown.ts";
import type { Problem } from "../report/outcome.ts";
import type { Report } from "../report/report.ts";
import type { OutputFiles } from "./arguments.ts";
import { Usage } from "./usage.ts";

/**
 * Checks before anything is measured that the files can be written.
 *
 * @throws Usage
 */
export async function checkWritable(files: readonly (string | undefined)[]): Promise<void> {
  for (const file of files) {
    if (file === undefined || file === "-") continue;
    const found = await stat(file).catch(() => undefined);
    if (found?.isDirectory()) throw new Usage(`cannot write ${file}: it is a folder`);
    await access(found ? file : dirname(file), constants.W_OK).catch((cause: unknown) => {
      const why = found ? "permission denied" : "its folder does not exist or is not writable";
      throw new Usage(`cannot write ${file}: ${why}`, { cause });
    });
  }
}

/**
 * Writes the requested reports.
 *
 * @param print writes to standard output
 * @throws Error if a file cannot be written
 */
export async function writeFiles(
  { json, html, markdown }: OutputFiles,
  report: Report,
  problems: readonly Problem[],
  print: (text: string) => Promise<void>,
): Promise<void> {
  const write = async (file: string | undefined, render: () => unknown): Promise<void> => {
    if (file === undefined) return;
    const text = String(await render());
    await (file === "-" ? print(text) : writeFile(file, text));
  };
  // JSON first, because all other files can be generated from it. Loaded late, for a small heap.
  await write(json, async () => (await import("../report/report.ts")).renderJson(report));
  await write(markdown, () => renderMarkdown(report, problems));
  await write(html, async () => (await import("../report/html.ts")).renderHtml(report, problems));
}
