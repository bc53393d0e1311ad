import { reasonOf, usage } from "../failures.ts";
import type { Environment } from "../session.ts";
import { appendFile, readFile } from "node:fs/promises";
import { quoted } from "./new-config.ts";
import { readConfig } from "./read-config.ts";

/**
 * Finds out how one more store is written at the end of a configuration file. All else in it stays
 * as it is.
 *
 * @returns what writes it, once the store is there
 * @throws Failure `usage` where the file has its stores in a form that nothing can be added to
 */
export async function storeAddition(
  path: string,
  store: { readonly name: string; readonly url: string },
  env: Environment,
): Promise<() => Promise<void>> {
  const added = `\n[store.${quoted(store.name)}]\nurl = ${quoted(store.url)}\n`;
  const cannot = (error: unknown) =>
    usage(`cannot add the store to ${path}, do so by hand: ${reasonOf(error)}`, error);
  try {
    const text = await readFile(path, "utf8");
    const tail = text === "" || text.endsWith("\n") ? added : `\n${added}`;
    readConfig(text + tail, path, env);
    return async () => {
      // Not a new file in its place: it may be a link, and have a mode of its own.
      await appendFile(path, tail, { flush: true }).catch((error: unknown) => {
        throw cannot(error);
      });
    };
  } catch (error) {
    throw cannot(error);
  }
}
