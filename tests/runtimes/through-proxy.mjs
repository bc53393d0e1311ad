// Usage: bun|node through-proxy.mjs ENDPOINT. Runs every kind of request of an object store.
import { s3 } from "@idk/storage/s3";
import { initBucket } from "@idk/storage/provision";

const [endpoint] = process.argv.slice(2);
const [accessKeyId, secretAccessKey] = ["access-key", "secret-key"];
const common = { bucket: "bucket", endpoint, region: "us-east-1" };
const backend = s3({ ...common, credentials: { accessKeyId, secretAccessKey } });
const name = "ab".repeat(32);
const steps = {
  put: () => backend.put(name, new Uint8Array(10)),
  get: () => backend.get(name, new Uint8Array(100)),
  async list() {
    for await (const _ of backend.list("")) break;
  },
  sdk: () =>
    initBucket(
      { provider: "s3", ...common, credentials: { accessKeyId, secretAccessKey } },
      {},
      once,
    ),
  minio: () =>
    initBucket(
      { provider: "minio", ...common, accessKey: accessKeyId, secretKey: secretAccessKey },
      {},
      once,
    ),
};
const once = { retry: { budgetMs: 0, minAttempts: 1 } };
const results = {};
for (const [step, run] of Object.entries(steps)) {
  results[step] = await run().then(
    () => "ok",
    (error) => `${error.code}: ${error.message}`,
  );
}
console.log(JSON.stringify(results));
// Kept-alive connections must not keep the process alive for long, nor must the proxy's.
await backend.close();
