import { type Command, command } from "../command.ts";
import {
  choice,
  chunkSize,
  compression,
  flag,
  folders,
  optional,
  path,
  paths,
  recipients,
  store,
  text,
  workers,
} from "../settings.ts";
import { fileJournals } from "../file-journals.ts";
import { given, readList } from "../list-file.ts";
import { loadDedupSecret } from "../dedup-secret.ts";
import { loadRecipients } from "../recipients.ts";
import { openStore } from "../open-store.ts";
import { putFile } from "../put-file.ts";
import { putFiles } from "../put-files.ts";
import { usage } from "../failures.ts";

export const put: Command = command(
  {
    file: paths,
    fromFile: optional(path),
    null: flag,
    store,
    recipients,
    name: optional(text),
    type: optional(text),
    chunkSize: optional(chunkSize),
    padding: choice,
    compress: compression,
    dedupSecret: optional(path),
    workers,
    resume: choice,
    folders,
  },
  async (settings, session) => {
    const { name, type, chunkSize, padding, compress, resume } = settings;
    const file = checkedFile(settings);
    const to = await loadRecipients(settings.recipients);
    const dedupSecret = await loadDedupSecret(settings.dedupSecret, session);
    const options = {
      recipients: to,
      metadata: { ...(name !== undefined && { name }), ...(type !== undefined && { type }) },
      chunkSize,
      padding: padding === false ? "none" : "padme",
      compression: compress,
      dedupSecret,
      signal: session.signal,
    } as const;
    const { store, folders, workers } = settings;
    const how = { resume, store, folders };
    if (file === undefined) {
      const files = given(settings.file, listOf(settings));
      await using opened = await openStore(store, session, { workers });
      const openJournal = fileJournals(options, how, session.out);
      await putFiles(opened, files, options, openJournal, session);
    } else {
      await putFile(file, options, { ...how, workers }, session);
    }
  },
);

interface Sources {
  readonly file: readonly string[];
  readonly fromFile: string | undefined;
  readonly null: boolean;
  readonly name: string | undefined;
  readonly resume: boolean | undefined;
}

/** The one file to store, or undefined where they are many and each gets a line with its path. */
function checkedFile({ file, fromFile, null: zero, name, resume }: Sources): string | undefined {
  const [only] = file;
  if (fromFile === undefined) {
    if (only === undefined) throw usage("missing required argument 'file'");
    if (zero) throw usage("--null says how a list is written: give one with --from-file");
    if (file.length === 1) return only;
  }
  if (name !== undefined) throw usage("--name is for one file: put it by itself");
  if (resume === true) throw usage("--resume is for one file: put it by itself");
  if ([...file, fromFile].filter((path) => path === "-").length > 1) {
    throw usage("standard input can be read once: give one -");
  }
  return undefined;
}

/** What a list names are files: one that is called - as well. */
async function* listOf(settings: Sources): AsyncGenerator<string> {
  if (settings.fromFile === undefined) return;
  for await (const path of readList(settings.fromFile, settings.null ? "\0" : "\n")) {
    yield path === "-" ? "./-" : path;
  }
}
