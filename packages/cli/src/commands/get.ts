import { type Command, command } from "../command.ts";
import {
  address,
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
import { createOutputFile } from "../output-file.ts";
import { createTextCheck } from "../terminal-text.ts";
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
  },
  async (settings, session) => {
    const { output, range } = settings;
    const { out, signal } = session;
    const identities = await loadIdentities(settings, session);
    await using opened = await openStore(settings.store, session, { identities });
    const fetchBlob = () => opened.get(settings.address, { range, signal });
    if (output === undefined || output === "-") {
      await toStandardOutput(await fetchBlob(), out, { explicit: output === "-" });
    } else {
      const written = await toFile(fetchBlob, output, settings.force);
      await out.report({ address: settings.address, file: output, ...written });
    }
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

async function toFile(
  fetchBlob: () => Promise<StoredBlob>,
  path: string,
  force: boolean,
): Promise<{ size: number; written: number }> {
  // First, for nothing has to be fetched to know that it cannot be written.
  const file = await createOutputFile(path, { force });
  try {
    const blob = await fetchBlob();
    let written = 0;
    for await (const piece of blob.stream()) {
      await file.write(piece);
      written += piece.length;
    }
    await file.commit();
    return { size: blob.size, written };
  } catch (error) {
    await file.discard();
    throw error;
  }
}
