/**
 * A process that writes to a catalog in SQLite, as tests of crashes and of several processes need it.
 *
 * Usage: bun writer.ts put CATALOG BUCKET NAME      puts and deletes until it is killed; a line for each
 *                                                   that was acknowledged
 *        bun writer.ts claim CATALOG BUCKET NAME    64 conditional writes of one key; a line for each outcome
 */
import { openCatalog } from "../../src/catalog/open-catalog.ts";
import { bytes, inline, NOW, part, putManifest, putOf, root } from "./behaviour/fixture.ts";
import { begin } from "./behaviour/uploads.ts";

const [mode, path, bucketName, name] = process.argv.slice(2) as [string, string, string, string];
const catalog = await openCatalog(path);
const bucket = (await catalog.findBucket(bucketName))!;
const say = (...words: (string | number)[]) => process.stdout.write(`${words.join(" ")}\n`);

async function putAndDelete(client: number): Promise<never> {
  for (let i = 0; ; i++) {
    const key = `${name}-${client}-${i % 5}`;
    if (i % 3 === 2) {
      const upload = await begin(catalog, bucket, key);
      const given = part(1, await catalog.nextSeq());
      await catalog.putPart({ upload, part: given, contents: [root(`${key} ${i}`)], now: NOW });
      const object = inline(await catalog.nextSeq(), { kind: "manifest" });
      await catalog.completeUpload({ upload, object, parts: [given], now: NOW });
      say("put", key, object.seq);
    } else if (i % 7 === 6) {
      const deleted = await catalog.deleteObject(bucket.id, bytes(key), { now: NOW });
      if (deleted.outcome === "deleted") say("delete", key, deleted.tombstone.seq);
    } else {
      const object = await putManifest(catalog, bucket, key, [`${key} ${i}`]);
      say("put", key, object.seq);
    }
  }
}

async function claim(): Promise<string> {
  const claimed = await catalog.claim(bucket.id, bytes(name), { ifNoneMatch: ["*"] }, NOW);
  if (claimed.outcome !== "claimed") return claimed.outcome;
  const object = inline(claimed.seq);
  return (await catalog.commitPut(putOf(bucket, name, object, { isClaimed: true }))).outcome;
}

say("ready");
if (mode === "put") await Promise.all(Array.from({ length: 8 }, (_, i) => putAndDelete(i)));
else {
  // Until there is a line of input, so that all processes begin at once.
  for await (const _ of Bun.stdin.stream()) break;
  for (const outcome of await Promise.all(Array.from({ length: 64 }, claim))) say(outcome);
  await catalog.close();
  process.exit(0);
}
