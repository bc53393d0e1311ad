/** Serves a list of one file, as list-files.test.ts needs it. Usage: bun open-list.ts FOLDER */
import { openSnapshotBucket } from "../../src/snapshot/open-snapshot-bucket.ts";

const [, , folder = ""] = process.argv;
const served = await openSnapshotBucket(
  {
    bucket: "web",
    time: 0,
    async *files() {
      yield { path: Buffer.from("name"), size: 0, time: 0, sha256: new Uint8Array(32) };
    },
    async *content() {},
  },
  folder,
);
await served.listed;
console.log("listed");
for await (const _ of process.stdin);
const bucket = await served.catalog.findBucket("web");
const { entries } = await served.catalog.listObjects({
  bucket: bucket!.id,
  prefix: Buffer.of(),
  limit: 10,
});
for (const { key } of entries) console.log(Buffer.from(key).toString());
await served.close();
