import { BY_SEVERITY, EXIT_CODES, type FailureCode } from "../exit-codes.ts";
import { type Command, command } from "../command.ts";
import { Failure, codeOf, usage } from "../failures.ts";
import type { Store, VerifyReport } from "@idk/storage";
import { addresses, flag, identityFiles, passphrase, store } from "../settings.ts";
import type { Session } from "../session.ts";
import { count } from "../text.ts";
import { formatBytes } from "../sizes.ts";
import { loadIdentities } from "../identities.ts";
import { openStore } from "../open-store.ts";
import { pMapIterable } from "p-map";

/** Blobs checked at a time; each may take 16 MiB of memory. */
const AT_ONCE = 4;

export const verify: Command = command(
  { address: addresses, store, deep: flag, identity: identityFiles, passphrase },
  async (settings, session) => {
    const identities = settings.deep ? await loadIdentities(settings, session) : [];
    await using opened = await openStore(settings.store, { identities });
    const tally = createTally();
    const check = settings.deep ? checkDeep : checkBlob;
    const named = settings.address.length > 0;
    const targets = named ? new Set(settings.address) : listed(opened, session.signal);
    const checkOne = async (address: string): Promise<void> => {
      try {
        const result = await check(opened, address, { named, signal: session.signal });
        tally.add(result);
        await session.out.report({ ok: true, ...result });
      } catch (error) {
        await tally.fail(address, named, error, session);
      }
    };
    // In the order in which they get done, and without gathering results: a store may be large.
    const checks = pMapIterable(targets, checkOne, { concurrency: AT_ONCE, preserveOrder: false });
    for await (const _ of checks);
    await session.out.flush();
    await session.out.note(tally.summary(settings.deep));
    tally.throwIfFailed();
  },
);

interface Checked extends VerifyReport {
  /** Whether all content was decrypted and checked, too. */
  readonly deep: boolean;
}

interface CheckOptions {
  /** Whether the address was asked for by name. */
  readonly named: boolean;
  readonly signal: AbortSignal;
}

async function checkBlob(
  opened: Store,
  address: string,
  { signal }: CheckOptions,
): Promise<Checked> {
  return { ...(await opened.verify(address, { signal })), deep: false };
}

/** Without names, what no identity opens is somebody else's, and checked as well as one can. */
async function checkDeep(
  opened: Store,
  address: string,
  { named, signal }: CheckOptions,
): Promise<Checked> {
  const blob = await checkBlob(opened, address, { named, signal });
  if (blob.kind === "child") {
    if (named) throw usage("this is a chunk: --deep takes addresses that `idk put` printed");
    return blob;
  }
  try {
    // One chunk at a time here, since several roots are checked at once.
    const tree = await opened.verify(address, { deep: true, concurrency: 1, signal });
    return { ...tree, deep: true };
  } catch (error) {
    if (!named && codeOf(error) === "no-match") return blob;
    throw error;
  }
}

async function* listed(opened: Store, signal: AbortSignal): AsyncGenerator<string> {
  for await (const { address } of opened.list({ signal })) yield address;
}

interface Tally {
  add(result: Checked): void;
  /** Prints a failure and counts it; throws it on where it is none of the blob's. */
  fail(address: string, named: boolean, error: unknown, session: Session): Promise<void>;
  summary(deep: boolean): string;
  throwIfFailed(): void;
}

function createTally(): Tally {
  const failures: FailureCode[] = [];
  const counted = { blobs: 0, bytes: 0, deep: 0, unopened: 0 };

  return {
    add(result) {
      counted.blobs += 1;
      counted.bytes += result.bytes;
      if (result.deep) counted.deep += 1;
      else if (result.kind === "root") counted.unopened += 1;
    },
    async fail(address, named, error, { out, signal }) {
      const code = codeOf(error);
      if (signal.aborted || code === "unexpected" || !(error instanceof Error)) throw error;
      // Listed and gone: somebody removed it meanwhile. A chunk that is missing names itself.
      if (code === "not-found" && !named && error.message.includes(address)) return;
      failures.push(code);
      counted.blobs += 1;
      const { message } = error;
      await out.result(`${address} ${code}: ${message}`, {
        ok: false,
        address,
        error: { code, message },
      });
      await out.flush();
    },
    summary(deep) {
      const { blobs, bytes, unopened } = counted;
      const ways = deep
        ? `: ${count(counted.deep, "root")} with all content, ${blobs - failures.length - counted.deep} by name and form only` +
          (unopened > 0 ? ` (of these ${count(unopened, "root")} that no identity opens)` : "")
        : "";
      return `checked ${count(blobs, "blob")}, ${formatBytes(bytes)}${ways}; ${failures.length || "no"} failed`;
    },
    throwIfFailed() {
      if (failures.length === 0) return;
      const [worst] = failures.toSorted((a, b) => severity(a) - severity(b));
      throw new Failure(
        worst ?? "unexpected",
        `${failures.length} of ${count(counted.blobs, "blob")} failed`,
      );
    },
  };
}

function severity(code: FailureCode): number {
  return BY_SEVERITY.indexOf(EXIT_CODES[code]);
}
