import { expect, test } from "bun:test";
import { S3Client } from "@aws-sdk/client-s3";
import fc from "fast-check";
import { connect } from "../../../src/backend/s3/http/connection.ts";
import { createSigner } from "../../../src/backend/s3/http/sign.ts";
import { s3Config } from "../../../src/backend/s3.ts";

const [endpoint, region] = ["https://s3.example:9000", "eu-central-1"] as const;
const printable = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
});
const text = fc.string({ unit: "grapheme" });
/** The SDK loses a parameter of this name. */
const name = fc.string({ unit: "grapheme", minLength: 1 }).filter((given) => given !== "__proto__");

test("requests are signed as the SDK signs them", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom("GET", "PUT", "HEAD", "DELETE"),
      fc.string({ unit: "grapheme", minLength: 1 }),
      fc.dictionary(name, text, { noNullPrototype: true }),
      fc.record({ range: printable, "x-amz-checksum-mode": printable }, { requiredKeys: [] }),
      // Some longer than a block of the hash function.
      fc.string({ unit: "grapheme", minLength: 1, maxLength: 100, size: "max" }),
      fc.option(fc.constant("session token"), { nil: undefined }),
      async (method, key, query, own, secretAccessKey, sessionToken) => {
        const credentials = { accessKeyId: "KEY", secretAccessKey, sessionToken };
        const sha256 = "ab".repeat(32);
        const headers = { ...own, "x-amz-content-sha256": sha256 };
        const connection = await connect(
          s3Config({ bucket: "bucket", endpoint, region, credentials }),
        );
        const { url, headers: signed } = await connection.sign({
          method,
          key,
          query,
          headers: own,
          sha256,
        });
        const { path = "", search = "" } =
          /^https:\/\/[^/]+(?<path>\/[^?]*)\??(?<search>.*)$/u.exec(url)?.groups ?? {};
        expect(Object.fromEntries(new URLSearchParams(search))).toEqual(query);

        const { config } = new S3Client({ endpoint, region, credentials: credentials as never });
        const properties = { signingName: "s3", signingRegion: region, properties: {} };
        const signer = await config.signer({ name: "sigv4", ...properties });
        const { hostname, host } = new URL(url);
        const moment = signed["x-amz-date"]!.replace(
          /^(....)(..)(..T..)(..)(..Z)$/u,
          "$1-$2-$3:$4:$5",
        );
        const expected = await signer.sign(
          { method, protocol: "https:", hostname, path, query, headers: { ...headers, host } },
          { signingDate: new Date(moment) },
        );
        const { host: _, ...rest } = expected.headers;
        expect(signed).toEqual(rest);
      },
    ),
    { numRuns: 50 },
  );
});

test("signatures are of their own second and day, also if the clock goes back", () => {
  const request = { method: "GET", path: "/", query: "", host: "host", headers: {}, sha256: "" };
  const signAt = (sign: ReturnType<typeof createSigner>, time: string) =>
    sign(request, { accessKeyId: "KEY", secretAccessKey: "secret" }, new Date(time));
  const sign = createSigner(region);
  for (const time of [
    "2026-12-31T23:59:59.001Z",
    "2026-12-31T23:59:59.999Z",
    "2027-01-01T00:00:00.000Z",
    "2027-01-01T00:00:01.000Z",
    "2026-12-31T23:59:58.000Z",
  ]) {
    const signed = signAt(sign, time);
    expect(signed).toEqual(signAt(createSigner(region), time));
    expect(signed["x-amz-date"]).toBe(time.replaceAll(/[-:]|\.\d+/gu, ""));
  }
});
