import { access, constants, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { baselineOf, renderBaseline } from "../baseline/baseline.ts";
import type { BaselineChange } from "../baseline/compare.ts";
import { changesMarkdown } from "../baseline/render.ts";
import { renderMarkdown } from "../report/markdown.ts";
import type { Report } from "../report/report.ts";
import { renderJson } from "../report/schema.ts";
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
 * Writes the requested files.
 *
 * @param print writes to standard output
 * @throws Error if a file cannot be written, or a baseline is requested and a suite failed
 */
export async function writeFiles(
  files: OutputFiles,
  report: Report,
  changes: readonly BaselineChange[] | undefined,
  print: (text: string) => Promise<void>,
): Promise<void> {
  const write = (file: string, text: string): Promise<void> =>
    file === "-" ? print(text) : writeFile(file, text);
  // First, because all other files can be generated from it.
  if (files.json !== undefined) await write(files.json, renderJson(report));
  if (files.markdown !== undefined) {
    const against = changes === undefined ? "" : `\n${changesMarkdown(changes)}`;
    await write(files.markdown, renderMarkdown(report) + against);
  }
  if (files.html !== undefined) {
    // Loaded late: only charts need these libraries.
    const { renderHtml } = await import("../report/html.ts");
    await write(files.html, renderHtml(report));
  }
  if (files.saveBaseline !== undefined) {
    const failed = report.suites.filter(({ status }) => status === "failed");
    if (failed.length > 0) {
      const names = failed.map(({ suite }) => suite).join(", ");
      throw new Error(`no baseline was saved, because these suites failed: ${names}`);
    }
    await write(files.saveBaseline, renderBaseline(baselineOf(report)));
  }
}
