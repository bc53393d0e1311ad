import { parseStoreUrl } from "@idk/storage/url";
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Command } from "../command.ts";
import { type Config, isStoreName } from "../config/config.ts";
import { configPath, loadConfig } from "../config/load-config.ts";
import { shownUrl } from "../config/redacted.ts";
import { choice, field, optional, path, readSettings } from "../config/settings.ts";
import { existingSetup, reportSetup, type SetupReport } from "../config/setup-report.ts";
import { storeUrl } from "../config/values.ts";
import { storeAddition, writeNewConfig } from "../config/write-config.ts";
import { usage } from "../errors/failures.ts";
import { createFolder, userFolders } from "../folders.ts";
import type { Environment, Invocation } from "../invocation.ts";
import { loadIdentities } from "../keys/identities.ts";
import { checkKeychainName, type IdentitySource } from "../keys/identity-source.ts";
import { askNewPassphrase, fileNewIdentity, writeNewIdentity } from "../keys/new-identity.ts";
import { openTerminal } from "../keys/terminal.ts";
import type { Session } from "../session.ts";
import { makeStore } from "../stores/make-store.ts";

const SHAPE = {
  output: optional(path),
  keychain: optional(field(checkKeychainName)),
  name: optional(field(checkName)),
  passphrase: choice,
} as const;

/**
 * What is made first is what the rest needs, and the configuration comes last: a run that was cut
 * short is completed by the next one.
 */
export const init: Command = async ({ options, env }, session) => {
  const { output, keychain, name = "main", passphrase } = readSettings(SHAPE, options);
  if (output !== undefined && keychain !== undefined) {
    throw usage("-o and --keychain exclude each other: give one of them");
  }
  const file = configPath(options["config"], env).path;
  if (existsSync(file)) {
    const config = await loadConfig(file, env);
    if (config !== undefined) return await extend(config, { options, env, name }, session);
  }
  const url = await chooseStore(options["store"], env, session);
  const location = located(url, env);
  const source: IdentitySource =
    keychain === undefined
      ? { kind: "file", path: resolve(output ?? join(userFolders(env).data, "identity.key")) }
      : { kind: "keychain", name: keychain };
  const given = env["IDK_PASSPHRASE"] || undefined;
  const identity = await provideIdentity(source, given, passphrase === false, session);
  const made = await makeStore(location, session);
  const text = source.kind === "file" ? source.path : `keychain:${keychain ?? ""}`;
  await writeNewConfig(file, {
    identity: text,
    recipient: identity.recipient,
    store: { name, url },
  });
  const report: SetupReport = {
    config: { path: file, state: "made" },
    identities: [{ name: text, state: identity.made ? "made" : "there" }],
    store: { name, url: shownUrl(url), ...made },
    recipient: identity.recipient,
    protected: identity.made && keychain === undefined && passphrase !== false,
  };
  return reportSetup(report, session);
};

/** What is there stays; only a store that is named on the command line, and new, is added. */
async function extend(
  config: Config,
  { options, env, name }: Invocation & { readonly name: string },
  session: Session,
): Promise<void> {
  const there = existingSetup(config);
  if (typeof options["store"] !== "string") return reportSetup(there, session);
  const url = await chooseStore(options["store"], env, session);
  const known = [...config.stores].find(([, entry]) => entry.url.value === url)?.[0];
  if (known !== undefined) return reportSetup(existingSetup(config, known), session);
  if (config.stores.has(name)) {
    throw usage(`${config.path} has another store ${name}: name this one with --name`);
  }
  const writeDown = await storeAddition(config.path, { name, url }, env);
  const made = await makeStore(located(url, env), session);
  await writeDown();
  const store = { name, url: shownUrl(url), ...made };
  const report = { ...there, config: { path: config.path, state: "added to" as const }, store };
  return reportSetup(report, session);
}

/** Paths are made absolute, for the file may be read from anywhere. */
async function chooseStore(flag: unknown, env: Environment, session: Session): Promise<string> {
  const standard = join(userFolders(env).data, "store");
  const given =
    typeof flag === "string" ? flag : env["IDK_STORE"] || (await askForStore(standard, session));
  located(given, env);
  return storeUrl(given, { file: resolve("a file here"), line: 0, env });
}

async function askForStore(standard: string, session: Session): Promise<string> {
  const terminal = openTerminal(session.signal);
  if (terminal === undefined) return standard;
  return (await terminal.ask(`Folder or URL of the store [${standard}]: `)).trim() || standard;
}

function located(url: string, env: Environment): ReturnType<typeof parseStoreUrl> {
  try {
    return parseStoreUrl(url, env);
  } catch (error) {
    throw usage(`the store ${error instanceof Error ? error.message : String(error)}`, error);
  }
}

/** Takes the identity that is there, or makes one. */
async function provideIdentity(
  source: IdentitySource,
  passphrase: string | undefined,
  unprotected: boolean,
  session: Session,
): Promise<{ readonly recipient: string; readonly made: boolean }> {
  if (source.kind === "keychain") {
    const { hasInKeychain } = await import("../keys/keychain.ts");
    if (!(await hasInKeychain(source.name))) {
      return { recipient: await fileNewIdentity(source.name), made: true };
    }
  } else if (source.kind === "file" && !existsSync(source.path)) {
    await createFolder(dirname(source.path));
    const ask = async () => passphrase ?? (await askNewPassphrase(session, "--no-passphrase is"));
    const recipient = await writeNewIdentity(source.path, unprotected ? undefined : ask);
    return { recipient, made: true };
  }
  const [identity] = await loadIdentities({ identity: [source], passphrase }, session);
  if (identity === undefined) throw usage("the identity is empty");
  return { recipient: identity.recipient, made: false };
}

function checkName(name: string): string {
  if (isStoreName(name)) return name;
  throw new Error("takes a name of letters, digits, _, - and .");
}
