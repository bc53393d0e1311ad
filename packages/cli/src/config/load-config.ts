import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import { usage } from "../errors/failures.ts";
import { userFolders } from "../folders.ts";
import type { Environment } from "../invocation.ts";
import { readTrustedFile } from "../keys/trusted-file.ts";
import { isSecretNotPath } from "../output/secrets.ts";
import type { Config } from "./config.ts";

/** The path of the configuration file, and whether a flag or variable named it. */
export function configPath(
  flag: unknown,
  env: Environment,
): { readonly path: string; readonly named: boolean } {
  const named = typeof flag === "string" ? flag : env["IDK_CONFIG"] || undefined;
  const name = typeof flag === "string" ? "--config" : "IDK_CONFIG";
  if (named === "") throw usage("--config takes a file, got an empty string");
  if (named !== undefined && isSecretNotPath(named)) {
    throw usage(`${name} looks like a secret key, not a file`);
  }
  return {
    path: resolve(named ?? join(userFolders(env).config, "config.toml")),
    named: named !== undefined,
  };
}

/**
 * Reads the configuration file.
 *
 * @param flag the value of `--config`
 * @returns undefined if the default file does not exist
 * @throws Failure `usage` if it cannot be read, others can change it, or it is invalid, with FILE:LINE
 */
export async function loadConfig(flag: unknown, env: Environment): Promise<Config | undefined> {
  const { path, named } = configPath(flag, env);
  if (!named && isMissing(path)) return undefined;
  const bytes = await readTrustedFile(path, "configuration");
  // Load the TOML parser only if there is a file.
  const [{ readConfig }, { TomlError }] = await Promise.all([
    import("./read-config.ts"),
    import("./toml.ts"),
  ]);
  try {
    return readConfig(decode(bytes, path), path, env);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const { line, column, message } = error;
    const at = column === undefined ? `${line}` : `${line}:${column}`;
    throw usage(`${path}:${at}: ${message}`, error);
  }
}

/** Whether there is a file at the default path. */
export function defaultConfigExists(path: string): boolean {
  return !isMissing(path);
}

/** There is often no file, and stat takes a tenth of the time of a failing open. */
function isMissing(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    // Opening it will report the error.
    return false;
  }
}

function decode(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw usage(`the configuration ${path} is not UTF-8`, error);
  }
}
