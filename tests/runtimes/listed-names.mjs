// Usage: bun|node --expose-gc listed-names.mjs PAGES LENGTH. Lists twice a store whose pages each have one blob and
// so many other characters, keeps the names, and prints how many bytes of memory the second listing has added.
import { createServer } from "node:http";
import { s3 } from "@idk/storage/s3";

const [pages, length] = process.argv.slice(2).map(Number);
let page = 0;
const server = createServer((_, response) => {
  page += 1;
  const name = `${page}`.padStart(64, "0");
  const isLast = page % pages === 0;
  response.end(
    `<ListBucketResult><Prefix>${"x".repeat(length)}</Prefix><IsTruncated>${!isLast}</IsTruncated>` +
      `<NextContinuationToken>${name}</NextContinuationToken>` +
      `<Contents><Key>store/${name}</Key><Size>5</Size></Contents></ListBucketResult>`,
  );
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const backend = s3({
  bucket: "bucket",
  prefix: "store",
  endpoint: `http://127.0.0.1:${server.address().port}`,
  region: "us-east-1",
  credentials: { accessKeyId: "access-key", secretAccessKey: "secret-key" },
});

const names = [];
/** Bytes of memory in use after a listing. */
async function used() {
  for await (const { name } of backend.list("")) names.push(name);
  await new Promise((resolve) => setTimeout(resolve, 10));
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}
const before = await used();
page = 0;
const added = (await used()) - before;
console.log(JSON.stringify({ names: names.length, added }));
await backend.close();
server.close();
process.exit();
