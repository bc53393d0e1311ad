import type { StoreLocation } from "@idk/storage/url";
import type { Command } from "../command.ts";
import { type Resolved, resolveSettings } from "../config/resolve.ts";
import {
  choice,
  folders,
  identitySources,
  passphrase,
  readSettings,
  recipients,
  repository,
  store,
  workers,
} from "../config/settings.ts";
import { type Check, failedWith, warning, worstCode } from "../doctor/check.ts";
import { checkIdentities, checkRecipients } from "../doctor/keys.ts";
import {
  checkConfig,
  checkCrypto,
  checkFolders,
  checkRuntime,
  checkThreads,
} from "../doctor/machine.ts";
import { checkStore } from "../doctor/store.ts";
import { Failure } from "../errors/failures.ts";
import { userFolders } from "../folders.ts";
import type { Invocation } from "../invocation.ts";
import type { Output } from "../output/output.ts";
import { count, printable } from "../output/text.ts";
import type { Session } from "../session.ts";
import { findRepository } from "../stores/find-repository.ts";
import { openBackend } from "../stores/open-store.ts";

const SETTINGS = ["store", "identity", "recipients", "workers", "repository"] as const;

/** Reads its settings itself, because an invalid setting is a finding and not a failure. */
export const doctor: Command = async (invocation, session) => {
  const { out } = session;
  const checks: Check[] = [];
  for await (const check of examine(invocation, session)) {
    checks.push(check);
    await out.result(describe(check), check);
    // Print immediately, because some checks take a while.
    await out.flush();
  }
  await summarize(checks, out);
};

async function* examine(invocation: Invocation, session: Session): AsyncGenerator<Check> {
  yield checkRuntime();
  yield await checkCrypto();
  let resolved: Resolved;
  try {
    resolved = await resolveSettings(invocation, SETTINGS);
    yield checkConfig(resolved.config);
  } catch (error) {
    yield failedWith(
      "configuration",
      error,
      "fix the file; nothing else can be checked without it",
    );
    return;
  }
  const { values, labels } = resolved;
  /** Reads one setting at a time, so that an invalid one does not hide the others. */
  const read = <T>(take: () => T, name: string): { value: T } | { wrong: Check } => {
    try {
      return { value: take() };
    } catch (error) {
      return {
        wrong: failedWith(name, error, "fix the flag, the variable or the file that sets it"),
      };
    }
  };

  const threads = read(() => readSettings({ workers }, values, labels).workers, "threads");
  yield "wrong" in threads ? threads.wrong : checkThreads(threads.value);
  yield await checkFolders(userFolders(invocation.env));

  const identity = read(
    () => readSettings({ identity: identitySources, passphrase }, values, labels),
    "identity",
  );
  let keys: Pick<Awaited<ReturnType<typeof checkIdentities>>, "own" | "locked"> = {
    own: [],
    locked: true,
  };
  if ("wrong" in identity) yield identity.wrong;
  else {
    const found = await checkIdentities(
      identity.value.identity,
      identity.value.passphrase,
      session,
    );
    yield* found.checks;
    keys = found;
  }
  const to = read(() => readSettings({ recipients }, values, labels).recipients, "recipients");
  yield "wrong" in to ? to.wrong : await checkRecipients(to.value, keys);

  if (values["store"] === undefined) {
    const remedy = "create one with `idk init`, or name one with --store or IDK_STORE";
    yield warning("store", "none named, so none was checked", remedy);
    return;
  }
  const canRead = !("wrong" in identity) && !keys.locked && keys.own.length > 0;
  yield* examineStore({ values, labels }, read, canRead, session);
}

type Read = <T>(take: () => T, name: string) => { value: T } | { wrong: Check };

async function* examineStore(
  { values, labels }: Pick<Resolved, "values" | "labels">,
  read: Read,
  canRead: boolean,
  session: Session,
): AsyncGenerator<Check> {
  const settings = read(
    () =>
      readSettings({ store, readOnly: choice, repository, folders, passphrase }, values, labels),
    "store",
  );
  if ("wrong" in settings) {
    yield settings.wrong;
    return;
  }
  const { store: location, readOnly = false } = settings.value;
  try {
    await using backend = await openBackend(location, session);
    const checks = await checkStore(backend, location, { readOnly }, session.signal);
    yield* checks;
    if (checks.some(({ status }) => status === "failed")) return;
    const { pins } = settings.value.repository;
    if (pins === undefined && !(await hasRepository(location, session))) return;
    // Only now, because it loads the library of snapshots.
    const { checkRepository } = await import("../doctor/repository.ts");
    const { identity } = canRead
      ? readSettings({ identity: identitySources }, values, labels)
      : { identity: [] };
    yield* checkRepository({ ...settings.value, identity }, canRead, session);
  } catch (error) {
    if (session.signal.aborted) throw error;
    yield failedWith("store", error, "run `idk store check` for details");
  }
}

async function hasRepository(location: StoreLocation, session: Session): Promise<boolean> {
  await using found = await findRepository(location, session);
  return found !== undefined;
}

const WORDS: Readonly<Record<Check["status"], string>> = {
  ok: "ok",
  warning: "warning",
  failed: "FAILED",
};

const STATUS_WIDTH = 7;
const CHECK_WIDTH = 13;

function describe({ status, check, message, remedy }: Check): string {
  const head = `${WORDS[status].padEnd(STATUS_WIDTH)}  ${check.padEnd(CHECK_WIDTH)}  `;
  const line = `${head}${printable(message)}`;
  return remedy === undefined ? line : `${line}\n${" ".repeat(head.length)}→ ${printable(remedy)}`;
}

async function summarize(checks: readonly Check[], out: Output): Promise<void> {
  const number = (status: Check["status"]): number =>
    checks.filter((check) => check.status === status).length;
  const [warnings, failures] = [number("warning"), number("failed")];
  const code = worstCode(checks);
  if (code !== undefined) {
    throw new Failure(code, `${failures} of ${count(checks.length, "check")} failed`);
  }
  if (out.json) return;
  await out.note(
    warnings === 0 ? "all checks passed" : `no failures; ${count(warnings, "warning")}`,
  );
}
