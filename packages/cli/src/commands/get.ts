import { type Command, command } from "../command.ts";
import {
  address,
  choice,
  field,
  flag,
  identityFiles,
  optional,
  passphrase,
  path,
  store,
} from "../settings.ts";
import type { Output } from "../output.ts";
import { Failure, codeOf, usage } from "../failures.ts";
import type { StoredBlob } from "@idk/storage";
import { createTextCheck } from "../terminal-text.ts";
import { download } from "../download.ts";
import { loadIdentities } from "../identities.ts";
import { openStore } from "../open-store.ts";
import { parseRange } from "../sizes.ts";

export const get: Command = command(
  {
    address,
    store,
    identity: identityFiles,
    passphrase,
    output: optional(path),
    range: optional(field(parseRange)),
    force: flag,
    resume: choice,
  },
  async (settings, session) => {
    const { output, range, force, resume } = settings;
    const toFile = output !== undefined && output !== "-";
    if (resume === true && (!toFile || range !== undefined)) {
      throw usage(`--resume takes ${toFile ? "no --range" : "-o FILE"}`);
    }
    const { out, signal } = session;
    const identities = await loadIdentities(settings, session);
    await using opened = await openStore(settings.store, session, { identities });
    const fetchBlob = () => opened.get(settings.address, { range, signal });
    if (!toFile) {
      await toStandardOutput(await fetchBlob(), out, { explicit: output === "-" });
      return;
    }
    const how = { address: settings.address, force, resume, ranged: range !== undefined };
    const written = await download(fetchBlob, output, how, session);
    await out.report({ address: settings.address, file: output, ...written });
  },
);

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
