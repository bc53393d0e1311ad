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
    try {
      await access(found === undefined ? dirname(file) : file, constants.W_OK);
    } catch (error) {
      const why =
        found === undefined ? "its folder does not exist or is not writable" : "permission denied";
      throw new Usage(`cannot write ${file}: ${why}`, { cause: error });
    }
  }
}

/**
 * Writes the requested reports.
 *
 * @param print writes to standard output
 * @throws Error if a file cannot be written
 */
export async function writeFiles(
  files: OutputFiles,
  report: Report,
  problems: readonly Problem[],
  print: (text: string) => Promise<void>,
): Promise<void> {
  const write = (file: string, text: string): Promise<void> =>
    file === "-" ? print(text) : writeFile(file, text);
  if (files.json !== undefined) {
    // First, because all other files can be generated from it. Loaded late, for a small heap.
    const { renderJson } = await import("../report/schema.ts");
    await write(files.json, renderJson(report));
  }
  if (files.markdown !== undefined) await write(files.markdown, renderMarkdown(report, problems));
  if (files.html !== undefined) {
    const { renderHtml } = await import("../report/html.ts");
    await write(files.html, renderHtml(report, problems));
  }
}
