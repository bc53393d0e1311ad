import type { StoredBlob } from "@idk/storage";
import pLimit from "p-limit";
import { resolveAddress } from "../blobs/address.ts";
import { type Command, command } from "../command.ts";
import {
  addresses,
  choice,
  flag,
  identitySources,
  optional,
  passphrase,
  path,
  range,
  type Range,
  store,
  workers,
} from "../config/settings.ts";
import { codeOf, Failure, usage } from "../errors/failures.ts";
import { download } from "../get/download.ts";
import { type GetFile, getFiles } from "../get/get-files.ts";
import { given, readList } from "../input/list-file.ts";
import { loadIdentities } from "../keys/identities.ts";
import type { Output } from "../output/output.ts";
import { createTextCheck } from "../output/text.ts";
import type { Meter } from "../progress/meter.ts";
import { openStore } from "../stores/open-store.ts";

export const get: Command = command(
  {
    address: addresses,
    fromFile: optional(path),
    store,
    identity: identitySources,
    passphrase,
    workers,
    output: optional(path),
    outputDir: optional(path),
    range,
    names: choice,
    force: flag,
    resume: choice,
  },
  async (settings, session) => {
    const { output, outputDir, range, force, resume } = settings;
    const named = checkedAddress(settings);
    const toFile = output !== undefined && output !== "-";
    if (named !== undefined && resume === true && (!toFile || range !== undefined)) {
      throw usage(`--resume takes ${toFile ? "no --range" : "-o FILE"}`);
    }
    const { out, signal } = session;
    const identities = await loadIdentities(settings, session);
    await using opened = await openStore(settings.store, session, {
      identities,
      workers: settings.workers,
    });
    if (named === undefined) {
      const { fromFile } = settings;
      const list = fromFile === undefined ? undefined : readList(fromFile, "\n");
      // Large contents take turns, so that memory does not grow with their number.
      const largeTurn = pLimit(1);
      const into = { ranged: false, takePresent: true, follow: false, keepTime: true };
      const getFile: GetFile = {
        resolve: (each, stop) => resolveAddress(opened, each, stop),
        open: (each, stop) => opened.get(each, { signal: stop }),
        write: (blob, file, meter) => {
          const how = { ...into, address: blob.address, force, resume, largeTurn, meter };
          return download(async () => blob, file, how, session);
        },
      };
      const target = { folder: outputDir!, names: settings.names ?? true };
      await getFiles(given(settings.address, list), target, getFile, session);
      return;
    }
    const address = await resolveAddress(opened, named, signal);
    const fetchBlob = () => opened.get(address, { range, signal });
    if (!toFile) {
      const blob = await fetchBlob();
      // Where the content itself shows on the terminal, it is its own progress.
      const started = out.terminal
        ? undefined
        : session.progress.start({ command: "get", totalBytes: lengthOf(range, blob.size) });
      using meter = started;
      await toStandardOutput(blob, out, { explicit: output === "-", meter });
      return;
    }
    using meter = session.progress.start({ command: "get", name: output });
    const how = { address, force, resume, ranged: range !== undefined, follow: true, meter };
    const fetchMeasured = async () => {
      const blob = await fetchBlob();
      meter.setTotals({ totalBytes: lengthOf(range, blob.size) });
      return blob;
    };
    const written = await download(fetchMeasured, output, how, session);
    const summary = meter.finish();
    if (summary !== undefined && !out.json) await out.note(`idk: fetched ${summary}`);
    await out.report({ address, file: output, ...written });
  },
);

interface Targets {
  readonly address: readonly string[];
  readonly fromFile: string | undefined;
  readonly output: string | undefined;
  readonly outputDir: string | undefined;
  readonly range: Range | undefined;
}

/** The one address to fetch, or undefined where each goes to a file of a folder. */
function checkedAddress(targets: Targets): string | undefined {
  const { address, fromFile, output, outputDir, range } = targets;
  const [only] = address;
  if (fromFile === undefined && only === undefined) {
    throw usage("name an ADDRESS, or a list of them with --from-file");
  }
  const many = fromFile !== undefined || address.length > 1;
  if (outputDir === undefined) {
    if (many) throw usage("several addresses take a folder: give --output-dir DIR");
    return only;
  }
  if (output !== undefined) throw usage("-o and --output-dir exclude each other: give one of them");
  if (range !== undefined) throw usage("--range is for one address, with -o or standard output");
  return undefined;
}

function lengthOf(range: Range | undefined, size: number): number {
  return (range?.end ?? size) - (range?.start ?? 0);
}

/** Handed to standard output at once. */
const OUTPUT_BYTES = 256 * 1024;

/** Pieces are released as they are verified: what is printed before a fault is good. */
async function toStandardOutput(
  blob: StoredBlob,
  out: Output,
  { explicit, meter }: { readonly explicit: boolean; readonly meter: Meter | undefined },
): Promise<void> {
  const isText = out.terminal && !explicit ? createTextCheck() : () => true;
  const tell = meter?.part();
  let written = 0;
  try {
    for await (const chunk of blob.chunks()) {
      if (!isText(chunk)) {
        throw usage("this is binary and may confuse the terminal: use -o FILE, or -o - to insist");
      }
      // In parts, for how much is out is told while it goes on and where it ends.
      for (let start = 0; start < chunk.length; start += OUTPUT_BYTES) {
        const part = chunk.subarray(start, start + OUTPUT_BYTES);
        await out.bytes(part);
        written += part.length;
        tell?.({ bytes: written });
      }
    }
  } catch (error) {
    const code = codeOf(error);
    if (written === 0 || !(error instanceof Error) || code === "unexpected") throw error;
    throw new Failure(
      code,
      `${error.message} (the output is cut short after ${written} bytes)`,
      error,
    );
  }
}
