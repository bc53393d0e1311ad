import { parseStoreUrl } from "@idk/storage/url";
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Command } from "../command.ts";
import { type Config, isStoreName } from "../config/config.ts";
import { configPath, loadConfig } from "../config/load-config.ts";
import { redactedUrl } from "../config/redacted.ts";
import {
  checked,
  choice,
  type Field,
  field,
  newPath,
  optional,
  path,
  readSettings,
  type SettingsOf,
} from "../config/settings.ts";
import { existingSetup, reportSetup, type SetupReport } from "../config/setup-report.ts";
import { storeUrl } from "../config/values.ts";
import { storeAddition, writeNewConfig } from "../config/write-config.ts";
import { usage } from "../errors/failures.ts";
import { createFolder, userFolders } from "../folders.ts";
import type { Environment, Invocation } from "../invocation.ts";
import { loadIdentities } from "../keys/identities.ts";
import { checkKeychainName, identitySource, type IdentitySource } from "../keys/identity-source.ts";
import {
  askNewPassphrase,
  addNewIdentityToKeychain,
  copyIdentity,
  writeNewIdentity,
} from "../keys/new-identity.ts";
import { openTerminal } from "../keys/terminal.ts";
import type { Session } from "../session.ts";
import { askStore, rejectKind } from "../stores/ask-store.ts";
import { makeStore } from "../stores/make-store.ts";

/** Where `-i` takes an existing identity from: a keychain, or a file to copy, `-` for standard input. */
const existingIdentity: Field<IdentitySource> = field((text) => {
  const source = identitySource(text);
  if (source.kind === "keychain") checkKeychainName(source.name);
  else if (text !== "-") checked(path, text);
  return source;
});

const SHAPE = {
  identity: optional(existingIdentity),
  output: optional(newPath),
  keychain: optional(field(checkKeychainName)),
  name: optional(field(checkName)),
  passphrase: choice,
} as const;

/**
 * Writes the configuration last, after everything it names exists: the next run completes one that
 * was interrupted.
 */
export const init: Command = async ({ options, env }, session) => {
  const settings = readSettings(SHAPE, options, { identity: "-i" });
  const { identity: existing, output, keychain, name = "main", passphrase } = settings;
  if (output !== undefined && keychain !== undefined) {
    throw usage("-o and --keychain exclude each other");
  }
  if (existing !== undefined) checkAlone(existing, settings);
  const file = configPath(options["config"], env).path;
  if (existsSync(file)) {
    const config = await loadConfig(file, env);
    if (config !== undefined && existing !== undefined) {
      throw usage(
        `${file} already exists, and -i is for a new configuration: to use another identity, change \`identity\` in it`,
      );
    }
    if (config !== undefined) return await extend(config, { options, env, name }, session);
  }
  const url = await chooseStore(options["store"], env, session);
  const location = locationOf(url, env);
  const inKeychain = keychain ?? (existing?.kind === "keychain" ? existing.name : undefined);
  const source: IdentitySource =
    inKeychain === undefined
      ? { kind: "file", path: resolve(output ?? join(userFolders(env).data, "identity.key")) }
      : { kind: "keychain", name: inKeychain };
  const given = env["IDK_PASSPHRASE"] || undefined;
  const identity =
    existing === undefined
      ? await loadOrCreateIdentity(source, given, passphrase === false, session)
      : existing.kind === "file" && source.kind === "file"
        ? await copyIdentity(existing.path, source.path, given, session)
        : await loadIdentity(source, given, session);
  const made = await makeStore(location, session);
  const text = source.kind === "file" ? source.path : `keychain:${inKeychain ?? ""}`;
  await writeNewConfig(file, {
    identity: text,
    recipient: identity.recipient,
    store: { name, url },
  });
  const report: SetupReport = {
    config: { path: file, state: "made" },
    identities: [{ name: text, state: identity.state }],
    copied: identity.state === "copied" && existing?.kind === "file" ? existing.path : undefined,
    store: { name, url: redactedUrl(url), ...made },
    recipient: identity.recipient,
    protected: identity.state === "made" && keychain === undefined && passphrase !== false,
  };
  return reportSetup(report, session);
};

/** Rejects options that are for a new identity. */
function checkAlone(
  existing: IdentitySource,
  { output, keychain, passphrase }: SettingsOf<typeof SHAPE>,
): void {
  if (keychain !== undefined) throw usage("-i and --keychain exclude each other");
  if (passphrase === false) {
    throw usage(
      "--no-passphrase is for a new identity: `idk keygen --change --no-passphrase` removes a passphrase",
    );
  }
  if (existing.kind === "keychain" && output !== undefined) {
    throw usage("-o is for a file, and an identity in the keychain stays there");
  }
}

/** Changes nothing, except that a new store named on the command line is added. */
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
    throw usage(`${config.path} already has another store ${name}: choose a different --name`);
  }
  const appendStore = await storeAddition(config.path, { name, url }, env);
  const made = await makeStore(locationOf(url, env), session);
  await appendStore();
  const store = { name, url: redactedUrl(url), ...made };
  const report = { ...there, config: { path: config.path, state: "added to" as const }, store };
  return reportSetup(report, session);
}

/** Makes paths absolute, because the file may be read from any directory. */
async function chooseStore(flag: unknown, env: Environment, session: Session): Promise<string> {
  const fallback = join(userFolders(env).data, "store");
  const named = typeof flag === "string" ? flag : env["IDK_STORE"] || undefined;
  if (named !== undefined) rejectKind(named);
  const given = named ?? (await askStore(fallback, session));
  locationOf(given, env);
  return storeUrl(given, { file: resolve("in-this-folder"), line: 0, env });
}

function locationOf(url: string, env: Environment): ReturnType<typeof parseStoreUrl> {
  try {
    return parseStoreUrl(url, env);
  } catch (error) {
    throw usage(`the store ${error instanceof Error ? error.message : String(error)}`, error);
  }
}

interface FoundIdentity {
  readonly recipient: string;
  readonly state: "made" | "there" | "copied";
}

/** Loads the existing identity, or creates one. */
async function loadOrCreateIdentity(
  source: IdentitySource,
  passphrase: string | undefined,
  unprotected: boolean,
  session: Session,
): Promise<FoundIdentity> {
  if (source.kind === "keychain") {
    const { hasInKeychain } = await import("../keys/keychain.ts");
    if (!(await hasInKeychain(source.name))) {
      return { recipient: await addNewIdentityToKeychain(source.name), state: "made" };
    }
  } else if (source.kind === "file" && !existsSync(source.path)) {
    await createFolder(dirname(source.path));
    const ask = async () => passphrase ?? (await askPassphrase(session));
    const recipient = await writeNewIdentity(source.path, unprotected ? undefined : ask);
    return { recipient, state: "made" };
  }
  return loadIdentity(source, passphrase, session);
}

/** Before it asks, names the way for someone who needs no new identity. */
async function askPassphrase(session: Session): Promise<string> {
  if (openTerminal(session.signal) !== undefined) {
    await session.out.note(
      "idk: creating a new identity; to use the one of another machine, press Ctrl-C and run `idk init -i KEY`",
    );
  }
  return askNewPassphrase(session, "pass --no-passphrase");
}

async function loadIdentity(
  source: IdentitySource,
  passphrase: string | undefined,
  session: Session,
): Promise<FoundIdentity> {
  const [identity] = await loadIdentities({ identity: [source], passphrase }, session);
  if (identity === undefined) throw usage("the identity is empty");
  return { recipient: identity.recipient, state: "there" };
}

function checkName(name: string): string {
  if (isStoreName(name)) return name;
  throw new Error("must be a name of letters, digits, _, - and .");
}
