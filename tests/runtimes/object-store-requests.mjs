// Usage: bun|node object-store-requests.mjs ENDPOINT… Runs every kind of request of an object store at each endpoint,
// and prints their results in an array.
import { s3 } from "@idk/storage/s3";
import { initBucket } from "@idk/storage/provision";

const once = { retry: { budgetMs: 0, minAttempts: 1 } };
const name = "ab".repeat(32);

async function requestsTo(endpoint) {
  const [accessKeyId, secretAccessKey] = ["access-key", "secret-key"];
  const common = { bucket: "bucket", endpoint, region: "us-east-1" };
  const withKeys = { ...common, credentials: { accessKeyId, secretAccessKey } };
  const minio = { ...common, accessKey: accessKeyId, secretKey: secretAccessKey };
  const backend = s3(withKeys);
  const steps = {
    put: () => backend.put(name, new Uint8Array(10)),
    get: () => backend.get(name, new Uint8Array(100)),
    async list() {
      for await (const _ of backend.list("")) break;
    },
    sdk: () => initBucket({ provider: "s3", ...withKeys }, {}, once),
    minio: () => initBucket({ provider: "minio", ...minio }, {}, once),
  };
  const results = {};
  for (const [step, run] of Object.entries(steps)) {
    results[step] = await run().then(
      () => "ok",
      (error) => `${error.code}: ${error.message}`,
    );
  }
  return { backend, results };
}

const ended = [];
for (const endpoint of process.argv.slice(2)) ended.push(await requestsTo(endpoint));
console.log(JSON.stringify(ended.map(({ results }) => results)));
// Kept-alive connections must not keep the process alive for long, nor must the proxy's.
for (const { backend } of ended) await backend.close();
