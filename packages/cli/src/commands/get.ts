import type { Store, StoredContent } from "@idk/storage";
import {
  addressFault,
  DIGITS_TO_ACT,
  isAddressOrPrefix,
  resolveAddress,
} from "../blobs/address.ts";
import { addressEntries, type Listed, resolveEntries } from "../blobs/address-list.ts";
import { findContents } from "../blobs/find-contents.ts";
import { type Command, command } from "../command.ts";
import {
  addressesOrPaths,
  choice,
  flag,
  identitySources,
  maxSize,
  newPath,
  optional,
  passphrase,
  path,
  range,
  type Range,
  size,
  store,
  workers,
} from "../config/settings.ts";
import { codeOf, Failure, usage } from "../errors/failures.ts";
import { createByteBudget } from "../get/byte-budget.ts";
import { download } from "../get/download.ts";
import { type GetFile, getFiles } from "../get/get-files.ts";
import { createSmallFiles } from "../get/small-files/small-files.ts";
import { loadIdentities } from "../keys/identities.ts";
import type { Output } from "../output/output.ts";
import { createTextCheck, formatBytes } from "../output/text.ts";
import type { Meter } from "../progress/meter.ts";
import type { Session } from "../session.ts";
import { openStore } from "../stores/open-store.ts";

/**
 * Which contents are fetched at once: the next begins when those before it have less than this left to
 * fetch, of which each counts at most `ON_THE_WAY_EACH`. The store's memory bounds what is in flight.
 */
const ON_THE_WAY = 24 * 2 ** 20;
const ON_THE_WAY_EACH = 16 * 2 ** 20;

export const get: Command = command(
  {
    address: addressesOrPaths,
    fromFile: optional(path),
    store,
    identity: identitySources,
    passphrase,
    workers,
    memory: optional(size),
    output: optional(newPath),
    outputDir: optional(newPath),
    range,
    maxSize,
    names: choice,
    force: flag,
    keepHidden: flag,
    resume: choice,
    sync: choice,
  },
  async (settings, session) => {
    const { output, outputDir, range, maxSize, force, resume, sync } = settings;
    const named = checkedAddress(settings);
    const toFile = output !== undefined && output !== "-";
    if (named !== undefined && resume === true && (!toFile || range !== undefined)) {
      throw usage(`--resume ${toFile ? "excludes --range" : "needs -o FILE"}`);
    }
    const { out, signal } = session;
    const identities = await loadIdentities(settings, session);
    await using opened = await openStore(settings.store, session, {
      identities,
      workers: settings.workers,
      memory: settings.memory,
    });
    const open = async (address: string, stop: AbortSignal): Promise<StoredContent> => {
      const within = range && ((size: number) => rangeWithin(range, size));
      const content = await opened.get(address, { range: within, signal: stop });
      const length = lengthOf(range, content.size);
      if (maxSize === undefined || length <= maxSize) return content;
      throw usage(
        `${address} has ${formatBytes(length)} of content, and --max-size allows ${maxSize}: raise it ` +
          "to fetch this content",
      );
    };
    if (named === undefined) {
      const budget = createByteBudget(ON_THE_WAY, ON_THE_WAY_EACH);
      const into = { acceptExisting: true, follow: false, keepTime: true, sync };
      // The thread neither replaces files nor looks for partial files of an earlier run.
      const isPlain = !force && resume === undefined && settings.workers !== 0;
      await using smallFiles = isPlain ? createSmallFiles(sync ?? true) : undefined;
      const getFile: GetFile = {
        open,
        smallFiles,
        write: (content, { path, hold, refused }, meter) => {
          const { address } = content;
          const how = { ...into, address, force, resume, budget, meter, hold, refused };
          return download(async () => content, path, how, session);
        },
      };
      const { names = true, keepHidden } = settings;
      const target = { folder: outputDir!, names, keepHidden };
      await getFiles(() => entriesOf(settings, opened, session), target, getFile, session);
      return;
    }
    const address = await resolveAddress(opened, named, signal);
    const fetchContent = () => open(address, signal);
    if (!toFile) {
      const content = await fetchContent();
      // Content printed on the terminal would mix with the progress bar.
      const started = out.terminal
        ? undefined
        : session.progress.start({ command: "get", totalBytes: lengthOf(range, content.size) });
      using meter = started;
      await toStandardOutput(content, out, { explicit: output === "-", meter });
      return;
    }
    using meter = session.progress.start({ command: "get", name: output });
    const part = range && { lengthOf: (size: number) => lengthOf(range, size) };
    const how = { address, force, resume, sync, ...part, follow: true, meter };
    const fetchMeasured = async () => {
      const content = await fetchContent();
      meter.setTotals({ totalBytes: lengthOf(range, content.size) });
      return content;
    };
    const written = await download(fetchMeasured, output, how, session);
    const summary = meter.finish();
    if (summary !== undefined && !out.json) await out.note(`idk: fetched ${summary}`);
    await out.report({ address, file: output, ...written });
  },
);

/** The addresses, the contents that paths stand for, and then those of the list. */
async function entriesOf(
  { address, fromFile }: Pick<Targets, "address" | "fromFile">,
  opened: Store,
  session: Session,
): Promise<AsyncIterable<Listed>> {
  const paths = address.filter((each) => !isAddressOrPrefix(each));
  const found = paths.length === 0 ? [] : await findContents(opened, paths, session);
  const named = address.filter(isAddressOrPrefix);
  async function* entries() {
    yield* found.filter((each) => each.address === undefined);
    yield* found.filter((each) => each.address !== undefined);
    yield* addressEntries({ address: named, fromFile }, session);
  }
  return resolveEntries(entries(), opened, session.signal);
}

interface Targets {
  readonly address: readonly string[];
  readonly fromFile: string | undefined;
  readonly output: string | undefined;
  readonly outputDir: string | undefined;
  readonly range: Range | undefined;
  readonly keepHidden: boolean;
}

/** The single address to fetch, or undefined if contents go to files in a folder. */
function checkedAddress(targets: Targets): string | undefined {
  const { address, fromFile, output, outputDir, range, keepHidden } = targets;
  const [only] = address;
  if (fromFile === undefined && only === undefined) {
    throw usage("name an ADDRESS, or a list of addresses with --from-file");
  }
  const many = fromFile !== undefined || address.length > 1;
  if (outputDir === undefined) {
    if (keepHidden) throw usage("--keep-hidden applies to --output-dir");
    if (many) throw usage("several addresses need a folder: use --output-dir DIR");
    const fault = only === undefined ? undefined : addressFault(only, DIGITS_TO_ACT);
    if (fault !== undefined)
      throw usage(`ADDRESS ${fault}; with --output-dir, stored paths also work`);
    return only;
  }
  if (output !== undefined) throw usage("-o and --output-dir exclude each other");
  if (range !== undefined) throw usage("--range takes one address, and -o or standard output");
  return undefined;
}

/** The part of a range that the content has. It is empty if the range starts at the content's end. */
function rangeWithin(range: Range, size: number): Required<Range> {
  const { start = 0, end = size } = range;
  if (start > size) {
    throw usage(`--range starts at byte ${start}, and the content has ${size} bytes`);
  }
  return { start, end: Math.min(end, size) };
}

function lengthOf(range: Range | undefined, size: number): number {
  const { start, end } = rangeWithin(range ?? {}, size);
  return end - start;
}

/** The largest write to standard output. */
const OUTPUT_BYTES = 1024 * 1024;

/** Writes pieces as they are verified: output before a failure is valid. */
async function toStandardOutput(
  content: StoredContent,
  out: Output,
  { explicit, meter }: { readonly explicit: boolean; readonly meter: Meter | undefined },
): Promise<void> {
  const isText = out.terminal && !explicit ? createTextCheck() : () => true;
  const update = meter?.part();
  let written = 0;
  try {
    for await (const chunk of content.chunks()) {
      if (!isText(chunk)) {
        throw usage(
          "the content is binary and may garble the terminal: use -o FILE, or -o - to print it anyway",
        );
      }
      // In parts, for the progress, and to know how much was written before a failure.
      for (let start = 0; start < chunk.length; start += OUTPUT_BYTES) {
        const part = chunk.subarray(start, start + OUTPUT_BYTES);
        await out.bytes(part);
        written += part.length;
        update?.({ bytes: written });
      }
    }
  } catch (error) {
    const code = codeOf(error);
    if (written === 0 || !(error instanceof Error) || code === "unexpected") throw error;
    throw new Failure(
      code,
      `${error.message} (the output is incomplete after ${written} bytes)`,
      error,
    );
  }
}
