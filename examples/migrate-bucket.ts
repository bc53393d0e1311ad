/**
 * Seals what lies in plain in an S3 bucket into a store of another bucket or prefix, with its name,
 * type and date, and writes a list of keys and addresses. It can be broken off and run again: what
 * the list names is left out. Nothing is removed from the source; do that once `idk verify --deep`
 * has read the copies.
 *
 *   bun migrate-bucket.ts SOURCE-BUCKET TARGET-BUCKET/PREFIX moved.ndjson idk1…
 *
 * Credentials and region come from the AWS chain; AWS_ENDPOINT_URL_S3 names another provider.
 */
import { GetObjectCommand, S3Client, paginateListObjectsV2 } from "@aws-sdk/client-s3";
import { type PutItem, createStore, parseRecipient } from "@idk/storage";
import { appendFile, readFile, truncate } from "node:fs/promises";
import { s3 } from "@idk/storage/s3";

const [source, target, listFile, ...recipients] = process.argv.slice(2);
if (source === undefined || target === undefined || listFile === undefined) {
  console.error("Usage: migrate-bucket.ts SOURCE-BUCKET TARGET-BUCKET/PREFIX LIST RECIPIENT…");
  process.exit(2);
}
const endpoint = process.env["AWS_ENDPOINT_URL_S3"];
const [bucket = "", ...prefix] = target.split("/");
await using store = createStore({
  backend: s3({ bucket, prefix: prefix.join("/"), ...(endpoint ? { endpoint } : {}) }),
  recipients: recipients.map(parseRecipient),
});
const client = new S3Client({ forcePathStyle: endpoint !== undefined });

interface Source {
  readonly key: string;
  readonly etag: string;
}

/** An object that was written again since has another ETag, and is taken again. */
const identify = ({ key, etag }: Source): string => JSON.stringify([key, etag]);

const done = new Set<string>();
for (const line of await linesOf(listFile)) {
  done.add(identify(JSON.parse(line) as Source));
}

let failed = 0;

function fail({ key }: Source, error: unknown): void {
  failed += 1;
  console.error(`${key}: ${String(error)}`);
}

/** One that cannot be read does not keep the others from being migrated. */
async function open(object: Source): Promise<PutItem<Source> | undefined> {
  const { key, etag } = object;
  try {
    const { Body, ContentType, LastModified } = await client.send(
      new GetObjectCommand({ Bucket: source, Key: key, IfMatch: etag }),
    );
    const metadata = {
      name: key,
      ...(ContentType === undefined ? {} : { type: ContentType }),
      ...(LastModified === undefined ? {} : { mtime: LastModified.getTime() }),
    };
    const content = Body!.transformToWebStream() as ReadableStream<Uint8Array>;
    return { key: object, content, options: { metadata } };
  } catch (error) {
    fail(object, error);
    return undefined;
  }
}

async function* objects(): AsyncGenerator<PutItem<Source>> {
  for await (const page of paginateListObjectsV2({ client }, { Bucket: source })) {
    for (const { Key: key = "", ETag: etag = "" } of page.Contents ?? []) {
      const object = { key, etag };
      if (done.has(identify(object))) continue;
      const item = await open(object);
      if (item !== undefined) yield item;
    }
  }
}

for await (const result of store.putMany(objects(), { concurrency: 8 })) {
  if (result.ok) {
    const line = JSON.stringify({ ...result.key, address: result.address });
    await appendFile(listFile, `${line}\n`);
    continue;
  }
  fail(result.key, result.error);
}
client.destroy();
if (failed > 0) {
  console.error(`${failed} objects are not migrated: run it again`);
  process.exitCode = 1;
}

async function linesOf(path: string): Promise<string[]> {
  try {
    const bytes = await readFile(path);
    // A line that a crash has cut short goes; its object is taken again.
    const end = bytes.lastIndexOf("\n") + 1;
    await truncate(path, end);
    return bytes.toString("utf8", 0, end).split("\n").filter(Boolean);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
