import type { StoreLocation } from "@idk/storage/url";
import { existsSync } from "node:fs";
import { isListedFor } from "../blobs/listing/is-listed.ts";
import { type Command, command } from "../command.ts";
import {
  choice,
  chunkSize,
  compression,
  flag,
  folders,
  nameChoice,
  optional,
  overrides,
  passphrase,
  path,
  paths,
  recipients,
  size,
  store,
  text,
  validIdentitySources,
  workers,
} from "../config/settings.ts";
import { reportOverrides } from "../config/overrides.ts";
import { usage } from "../errors/failures.ts";
import { parseLine, readList } from "../input/list-file.ts";
import { loadUnasked } from "../keys/identities.ts";
import { loadDedupSecret } from "../keys/key-files.ts";
import { loadRecipients } from "../keys/recipients.ts";
import { fileJournals } from "../put/file-journals.ts";
import {
  filesToPut,
  type FileToPut,
  isFolder,
  measureFiles,
  metadataInside,
  metadataOf,
  type PutEvents,
} from "../put/files-to-put.ts";
import { putFile } from "../put/put-file.ts";
import { type FileSource, putFiles } from "../put/put-files.ts";
import { count } from "../output/text.ts";
import { NONE_STORED, storedBefore } from "../put/stored-before.ts";
import type { Session } from "../session.ts";
import { openStore } from "../stores/open-store.ts";

export const put: Command = command(
  {
    file: paths,
    fromFile: optional(path),
    null: flag,
    done: optional(path),
    store,
    recipients,
    // Only to find out whether the user can list what was stored.
    identity: validIdentitySources,
    passphrase,
    name: nameChoice,
    type: optional(text),
    chunkSize: optional(chunkSize),
    padding: choice,
    compress: compression,
    dedupSecret: optional(path),
    workers,
    memory: optional(size),
    resume: choice,
    verbose: flag,
    quiet: flag,
    folders,
    overrides,
  },
  async (settings, session) => {
    const { name, type, chunkSize, padding, compress, resume } = settings;
    const file = await checkedFile(settings);
    const to = await loadRecipients(settings.recipients);
    const dedupSecret = await loadDedupSecret(settings.dedupSecret, session);
    const used = await reportOverrides(settings.overrides, to, session);
    const options = {
      recipients: to,
      chunkSize,
      padding: padding === false ? "none" : "padme",
      compression: compress,
      dedupSecret,
      signal: session.signal,
    } as const;
    const { store, folders, workers, memory } = settings;
    const metadata = metadataOf({ name, type, deduplicated: dedupSecret !== undefined });
    const how = { resume, store, folders };
    if (file === undefined) {
      const source = await sourceOf(settings, session);
      await using opened = await openStore(store, session, { workers, memory });
      const openJournal = fileJournals(options, how, session.out);
      const keep = async (each: FileToPut) =>
        name === false ? metadata(each.path) : metadataInside(each, metadata);
      // With --quiet the addresses are all there is to see.
      const listAll = settings.verbose || settings.quiet;
      const isListed = async (address: string) =>
        !listAll &&
        isListedFor(await loadUnasked(settings, session), to, opened, address, session.signal);
      const filesOptions = { ...options, metadata: keep, used, isListed };
      await putFiles(opened, source, filesOptions, openJournal, session);
    } else {
      await putFile(
        file,
        { ...options, metadata: await metadata(file) },
        { ...how, workers, memory, used },
        session,
      );
    }
  },
);

interface Sources {
  readonly file: readonly string[];
  readonly fromFile: string | undefined;
  readonly null: boolean;
  readonly done: string | undefined;
  readonly name: string | boolean | undefined;
  readonly resume: boolean | undefined;
}

/** The single file to store, or undefined if there are several, whose paths are printed. */
async function checkedFile({
  file,
  fromFile,
  null: zero,
  done,
  name,
  resume,
}: Sources): Promise<string | undefined> {
  const [only] = file;
  if (fromFile === undefined) {
    if (only === undefined) throw usage("name a file, a folder, or - for standard input");
    if (zero) throw usage("--null applies to a list: name one with --from-file");
    if (file.length === 1 && done === undefined && (only === "-" || !(await isFolder(only))))
      return only;
  }
  if (typeof name === "string") throw usage("--name takes a single file");
  if (resume === true) throw usage("--resume takes a single file");
  if ([...file, fromFile, done].filter((path) => path === "-").length > 1) {
    throw usage("standard input can be read only once: use - once");
  }
  return undefined;
}

async function sourceOf(
  settings: Sources & { readonly store: StoreLocation },
  { signal }: Pick<Session, "signal">,
): Promise<FileSource> {
  const { file: named, fromFile, done, store } = settings;
  const folder = store.kind === "filesystem" ? store.folder : undefined;
  const stored = done === undefined ? NONE_STORED : await storedBefore(done, signal);
  return {
    async *files(events) {
      async function* all(): AsyncGenerator<FileToPut> {
        yield* filesToPut(named, folder, events);
        for await (const path of listOf(settings, events, signal)) yield { path };
      }
      for await (const file of all()) {
        const difference = await stored.differenceOf(file.path);
        if (difference === undefined) yield file;
        else await events.storedBefore(file.path, difference);
      }
    },
    measure:
      fromFile === undefined && done === undefined
        ? async (signal) => measureFiles(named, folder, signal)
        : undefined,
  };
}

/**
 * In a list, - is the name of a file. A line that is the JSON of a command stands for its file, unless
 * there is a file of that very name.
 */
async function* listOf(
  { fromFile, null: zero }: Sources,
  events: PutEvents,
  signal: AbortSignal,
): AsyncGenerator<string> {
  if (fromFile === undefined) return;
  let without = 0;
  for await (const line of readList(fromFile, zero ? "\0" : "\n", signal)) {
    const { text, json } = parseLine(line, "file");
    const path = zero || (json && existsSync(line)) ? line : text;
    if (path === undefined) without += 1;
    else yield path === "-" ? "./-" : path;
  }
  if (without > 0) {
    await events.skipped(fromFile, `has ${count(without, "line")} of JSON without a file to store`);
  }
}
