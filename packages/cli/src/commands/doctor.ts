import type { Command } from "../command.ts";
import { type Resolved, resolveSettings } from "../config/resolve.ts";
import {
  choice,
  identitySources,
  passphrase,
  readSettings,
  recipients,
  store,
  workers,
} from "../config/settings.ts";
import { type Check, failedBy, warning, worstCode } from "../doctor/check.ts";
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
import { openBackend } from "../stores/open-store.ts";

/** What a setting is called where it cannot be read. */
const SETTINGS = ["store", "identity", "recipients", "workers"] as const;

/** Not made as other commands are: settings that are wrong are what it is there to tell. */
export const doctor: Command = async (invocation, session) => {
  const { out } = session;
  const checks: Check[] = [];
  for await (const check of examine(invocation, session)) {
    checks.push(check);
    await out.result(describe(check), check);
    // Some take a while, and the last may never come.
    await out.flush();
  }
  await summarize(checks, out);
};

async function* examine(invocation: Invocation, session: Session): AsyncGenerator<Check> {
  yield checkRuntime();
  yield await checkCrypto();
  let resolved: Resolved;
  try {
    resolved = await resolveSettings(invocation, [...SETTINGS, "workers"]);
    yield await checkConfig(resolved.config);
  } catch (error) {
    yield failedBy(
      "configuration",
      error,
      "mend the file; without it nothing else can be looked at",
    );
    return;
  }
  const { values, labels } = resolved;
  /** One setting at a time, so that one that is wrong leaves the others. */
  const read = <T>(take: () => T, name: string): { value: T } | { wrong: Check } => {
    try {
      return { value: take() };
    } catch (error) {
      return {
        wrong: failedBy(name, error, "mend the flag, the variable or the file that says so"),
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
    const remedy = "`idk init` sets one; --store URL or IDK_STORE name one";
    yield warning("store", "none named, and so none looked at", remedy);
    return;
  }
  yield* examineStore({ values, labels }, read, session);
}

type Read = <T>(take: () => T, name: string) => { value: T } | { wrong: Check };

async function* examineStore(
  { values, labels }: Pick<Resolved, "values" | "labels">,
  read: Read,
  session: Session,
): AsyncGenerator<Check> {
  const settings = read(() => readSettings({ store, readOnly: choice }, values, labels), "store");
  if ("wrong" in settings) {
    yield settings.wrong;
    return;
  }
  const { store: location, readOnly = false } = settings.value;
  try {
    await using backend = await openBackend(location, session);
    yield* await checkStore(backend, location, { readOnly }, session.signal);
  } catch (error) {
    if (session.signal.aborted) throw error;
    yield failedBy("store", error, "`idk store check` says more");
  }
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
  await out.note(warnings === 0 ? "all is well" : `nothing failed; ${count(warnings, "warning")}`);
}
