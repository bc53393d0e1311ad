import { B2_RETRY } from "@idk/storage/b2";
import { parseStoreUrl } from "@idk/storage/url";
import { expect, test } from "bun:test";
import { createOutput } from "../../src/output/output.ts";
import { createScreen } from "../../src/output/screen.ts";
import { createProgress } from "../../src/progress/meter.ts";
import { retryOptions } from "../../src/stores/open-store.ts";

const CREDENTIALS = {
  MINIO_ACCESS_KEY: "ada",
  MINIO_SECRET_KEY: "sesame-open",
  B2_ACCESS_KEY_ID: "ada",
  B2_SECRET_ACCESS_KEY: "sesame-open",
};

const B2 = "b2://attic?region=us-east-005";
const MINIO = "minio://localhost/attic";

test.each<[url: string, seconds: string | undefined, expected: Record<string, unknown>]>([
  [B2, undefined, { ...B2_RETRY }],
  [B2, "5", { firstDelayMs: 1000, minAttempts: undefined, budgetMs: 5000 }],
  [B2, "0", { firstDelayMs: 1000, minAttempts: 1, budgetMs: 0 }],
  [MINIO, undefined, {}],
  [MINIO, "5", { minAttempts: undefined, budgetMs: 5000 }],
  [MINIO, "0", { minAttempts: 1, budgetMs: 0 }],
])("%s with IDK_RETRY_SECONDS %p", async (url, seconds, expected) => {
  const location = parseStoreUrl(url, { ...CREDENTIALS, IDK_RETRY_SECONDS: seconds });
  if (location.kind === "filesystem") throw new Error("not an object store");
  const { onRetry, ...options } = await retryOptions(location, {
    out: createOutput({ json: true, screen: createScreen() }),
    progress: createProgress(undefined),
  });
  expect(options).toEqual(expected);
  expect(onRetry).toBeFunction();
});
