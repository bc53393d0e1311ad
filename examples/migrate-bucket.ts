/**
 * Encrypts the plaintext objects of an S3 bucket into a store in another bucket or prefix, with
 * their names, types and dates, and writes a list of keys and addresses. It can be interrupted and
 * run again: it skips the objects in the list. It deletes nothing from the source; do that after
 * `idk verify --deep` has read the copies.
 *
 *   bun migrate-bucket.ts SOURCE-BUCKET TARGET-BUCKET/PREFIX moved.ndjson idk1…
 *
 * Credentials and region come from the AWS SDK's chain; AWS_ENDPOINT_URL_S3 names another provider.
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

interface SourceObject {
  readonly key: string;
  readonly etag: string;
}

/** An object that was overwritten has another ETag, so it is migrated again. */
const idOf = ({ key, etag }: SourceObject): string => JSON.stringify([key, etag]);

const migrated = new Set<string>();
for (const line of await completeLines(listFile)) {
  migrated.add(idOf(JSON.parse(line) as SourceObject));
}

let failed = 0;

function fail({ key }: SourceObject, error: unknown): void {
  failed += 1;
  console.error(`${key}: ${String(error)}`);
}

/** Reports an object that cannot be read, so that the others are still migrated. */
async function open(object: SourceObject): Promise<PutItem<SourceObject> | undefined> {
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

async function* objects(): AsyncGenerator<PutItem<SourceObject>> {
  for await (const page of paginateListObjectsV2({ client }, { Bucket: source })) {
    for (const { Key: key = "", ETag: etag = "" } of page.Contents ?? []) {
      const object = { key, etag };
      if (migrated.has(idOf(object))) continue;
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
  console.error(`${failed} objects could not be migrated; run this program again`);
  process.exitCode = 1;
}

async function completeLines(path: string): Promise<string[]> {
  try {
    const bytes = await readFile(path);
    // A crash can truncate the last line. Remove it; its object is migrated again.
    const end = bytes.lastIndexOf("\n") + 1;
    await truncate(path, end);
    return bytes.toString("utf8", 0, end).split("\n").filter(Boolean);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
