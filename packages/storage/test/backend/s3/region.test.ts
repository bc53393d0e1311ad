import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { s3Config, type S3Options } from "../../../src/backend/s3.ts";
import { connect } from "../../../src/backend/s3/http/connection.ts";
import { rejects } from "../rejects.ts";
import { first } from "./fixtures.ts";
import { s3 } from "../../../src/backend/s3.ts";

const OPTIONS = {
  bucket: "bucket",
  credentials: { accessKeyId: "access-key", secretAccessKey: "secret-key" },
};

/** Variables of the SDK, which a test sets and others do not inherit. */
const VARIABLES = ["AWS_REGION", "AWS_ENDPOINT_URL", "AWS_PROFILE"];
const saved = { ...process.env };
beforeEach(() => {
  for (const name of VARIABLES) delete process.env[name];
  process.env["AWS_CONFIG_FILE"] = "/dev/null";
  process.env["AWS_SHARED_CREDENTIALS_FILE"] = "/dev/null";
  process.env["AWS_EC2_METADATA_DISABLED"] = "true";
});
afterEach(() => {
  const names = ["AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_EC2_METADATA_DISABLED"];
  for (const name of [...VARIABLES, ...names]) {
    if (saved[name] === undefined) delete process.env[name];
    else process.env[name] = saved[name];
  }
});

/** The region in the signature of a request. */
async function signingRegion(options: Partial<S3Options>): Promise<string | undefined> {
  const connection = await connect(s3Config({ ...OPTIONS, ...options }));
  const { headers } = await connection.sign({ method: "HEAD", key: "", headers: {}, sha256: "" });
  connection.close();
  return /Credential=access-key\/\d{8}\/([^/]+)\/s3\//u.exec(headers["authorization"] ?? "")?.[1];
}

describe("the region of a custom endpoint", () => {
  test.each([
    ["http://127.0.0.1:9000", "us-east-1"],
    ["https://minio.example.com", "us-east-1"],
    ["https://s3.storage.example.com", "us-east-1"],
    ["https://s3.amazonaws.com", "us-east-1"],
    ["https://s3.eu-central-003.backblazeb2.com", "eu-central-003"],
    ["https://s3.eu-west-3.amazonaws.com", "eu-west-3"],
    ["https://s3-us-west-2.amazonaws.com", "us-west-2"],
    ["https://s3.dualstack.us-west-2.amazonaws.com", "us-west-2"],
    ["https://s3-fips.us-gov-west-1.amazonaws.com", "us-gov-west-1"],
    ["https://bucket.vpce-1a2b.s3.us-east-2.vpce.amazonaws.com", "us-east-2"],
    ["https://s3.cn-north-1.amazonaws.com.cn", "cn-north-1"],
    ["https://s3.eu-central-1.wasabisys.com", "eu-central-1"],
    ["https://0123456789abcdef.r2.cloudflarestorage.com", "auto"],
    ["https://0123456789abcdef.eu.r2.cloudflarestorage.com", "auto"],
  ])("%s is %s", async (endpoint, region) => {
    expect(await signingRegion({ endpoint })).toBe(region);
  });

  test("is the one of the options, then of AWS_REGION, then of the host", async () => {
    const endpoint = "https://s3.eu-west-3.amazonaws.com";
    expect(await signingRegion({ endpoint })).toBe("eu-west-3");
    process.env["AWS_REGION"] = "sa-east-1";
    expect(await signingRegion({ endpoint, region: "eu-west-1" })).toBe("eu-west-1");
    expect(await signingRegion({ endpoint })).toBe("sa-east-1");
    expect(await signingRegion({ endpoint: "http://127.0.0.1:9000" })).toBe("sa-east-1");
  });

  test("is the one of the profile before that of the host", async () => {
    const folder = mkdtempSync(join(tmpdir(), "idk-region-"));
    try {
      process.env["AWS_CONFIG_FILE"] = join(folder, "config");
      process.env["AWS_PROFILE"] = "own";
      writeFileSync(join(folder, "config"), "[profile own]\nregion = sa-east-1\n");
      const endpoint = "https://s3.eu-west-3.amazonaws.com";
      expect(await signingRegion({ endpoint })).toBe("sa-east-1");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("is found for an endpoint of the environment, too", async () => {
    process.env["AWS_ENDPOINT_URL"] = "http://127.0.0.1:9000";
    expect(await signingRegion({})).toBe("us-east-1");
    process.env["AWS_ENDPOINT_URL"] = "https://s3.eu-central-003.backblazeb2.com";
    expect(await signingRegion({})).toBe("eu-central-003");
  });
});

test("without an endpoint, the region has to be set", async () => {
  await rejects(first(s3(OPTIONS).list("")), "usage", "no region is set");
  process.env["AWS_REGION"] = "sa-east-1";
  expect(await signingRegion({})).toBe("sa-east-1");
});
