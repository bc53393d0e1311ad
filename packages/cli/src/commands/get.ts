import { type Command, command } from "../command.ts";
import {
  addresses,
  choice,
  field,
  flag,
  identityFiles,
  optional,
  passphrase,
  path,
  store,
  workers,
} from "../settings.ts";
import type { Output } from "../output.ts";
import { Failure, codeOf, usage } from "../failures.ts";
import type { StoredBlob } from "@idk/storage";
import { createTextCheck } from "../terminal-text.ts";
import { download } from "../download.ts";
import { loadIdentities } from "../identities.ts";
import { openStore } from "../open-store.ts";
import pLimit from "p-limit";
import { type Range, parseRange } from "../sizes.ts";
import { type WriteFile, getFiles } from "../get-files.ts";
import { given, readList } from "../list-file.ts";

export const get: Command = command(
  {
    address: addresses,
    fromFile: optional(path),
    store,
    identity: identityFiles,
    passphrase,
    workers,
    output: optional(path),
    outputDir: optional(path),
    range: optional(field(parseRange)),
    force: flag,
    resume: choice,
  },
  async (settings, session) => {
    const { output, outputDir, range, force, resume } = settings;
    const address = checkedAddress(settings);
    const toFile = output !== undefined && output !== "-";
    if (address !== undefined && resume === true && (!toFile || range !== undefined)) {
      throw usage(`--resume takes ${toFile ? "no --range" : "-o FILE"}`);
    }
    const { out, signal } = session;
    const identities = await loadIdentities(settings, session);
    await using opened = await openStore(settings.store, session, {
      identities,
      workers: settings.workers,
    });
    if (address === undefined) {
      const { fromFile } = settings;
      const list = fromFile === undefined ? undefined : readList(fromFile, "\n");
      // Large contents take turns, so that memory does not grow with their number.
      const largeTurn = pLimit(1);
      const write: WriteFile = (each, file, stop) => {
        const how = { address: each, force, resume, ranged: false, takePresent: true, largeTurn };
        return download(() => opened.get(each, { signal: stop }), file, how, session);
      };
      await getFiles(given(settings.address, list), outputDir!, write, session);
      return;
    }
    const fetchBlob = () => opened.get(address, { range, signal });
    if (!toFile) {
      await toStandardOutput(await fetchBlob(), out, { explicit: output === "-" });
      return;
    }
    const how = { address, force, resume, ranged: range !== undefined };
    const written = await download(fetchBlob, output, how, session);
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
    throw usage("missing required argument 'address'");
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

/** Pieces are released as they are verified: what is printed before a fault is good. */
async function toStandardOutput(
  blob: StoredBlob,
  out: Output,
  { explicit }: { readonly explicit: boolean },
): Promise<void> {
  const isText = out.terminal && !explicit ? createTextCheck() : () => true;
  let written = 0;
  try {
    for await (const piece of blob.stream()) {
      if (!isText(piece)) {
        throw usage("this is binary and may confuse the terminal: use -o FILE, or -o - to insist");
      }
      await out.bytes(piece);
      written += piece.length;
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
