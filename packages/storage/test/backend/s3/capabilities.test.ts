import { describe, expect, setSystemTime, test } from "bun:test";
import { withRetry } from "../../../src/backend/retry.ts";
import { sha256 } from "../../support.ts";
import {
  errorResponse,
  xmlResponse,
  NAME,
  objectResponse,
  OTHER,
  served,
  trustedBackend,
  versionedBackend,
} from "./fixtures.ts";

interface Rules {
  readonly status?: string;
  /** Overrides the store's response. */
  readonly answer?: (request: Request) => Response | undefined;
}

/** A store that verifies checksums and supports conditional puts, as far as `capabilities` needs. */
function smallStore({ status = "", answer }: Rules = {}) {
  const blobs = new Set<string>();
  const requests: Request[] = [];
  const fetch = async (request: Request): Promise<Response> => {
    requests.push(request);
    const own = answer?.(request);
    if (own !== undefined) return own;
    const { pathname, searchParams } = new URL(request.url);
    if (searchParams.has("versioning")) return xmlResponse(status, "VersioningConfiguration");
    if (searchParams.has("versions")) {
      return xmlResponse("<IsTruncated>false</IsTruncated>", "ListVersionsResult");
    }
    if (request.method === "PUT") {
      const hash = Buffer.from(sha256(await request.bytes()), "hex").toString("base64");
      const claim = request.headers.get("x-amz-checksum-sha256");
      if (claim !== null && claim !== hash) return errorResponse(400, "BadDigest");
      if (request.headers.has("if-none-match") && blobs.has(pathname)) {
        return errorResponse(412, "PreconditionFailed");
      }
      blobs.add(pathname);
      return objectResponse();
    }
    if (request.method === "DELETE") blobs.delete(pathname);
    if (request.method === "DELETE") return new Response(null, { status: 204 });
    return blobs.has(pathname)
      ? objectResponse({ "content-length": "91" })
      : errorResponse(404, "NoSuchKey");
  };
  return { blobs, requests, fetch };
}

const ENABLED = "<Status>Enabled</Status>";

describe("determining capabilities", () => {
  test("leaves nothing behind if deletes fail for a while", async () => {
    let failures = 0;
    const store = smallStore({
      answer: ({ method }) => {
        if (method !== "DELETE" || store.blobs.size === 0 || failures === 2) return undefined;
        failures += 1;
        return errorResponse(503, "SlowDown");
      },
    });
    using fake = served(store.fetch);
    const backend = withRetry(fake.backend, { firstDelayMs: 1, maxDelayMs: 1 });
    expect(await backend.capabilities!()).toMatchObject({ conditionalPut: true });
    expect(failures).toBe(2);
    expect(store.blobs.size).toBe(0);
  });

  test("leaves no delete marker if versions may not be listed or deleted", async () => {
    for (const refused of [
      ({ url }: Request) => url.includes("versions="),
      ({ url }: Request) => url.includes("versionId="),
    ]) {
      const store = smallStore({
        status: ENABLED,
        answer: (request) => (refused(request) ? errorResponse(403, "AccessDenied") : undefined),
      });
      using fake = served((request) =>
        request.url.includes("list-type=2")
          ? xmlResponse("<IsTruncated>false</IsTruncated>")
          : store.fetch(request),
      );
      expect(await fake.backend.capabilities!()).toMatchObject({ versions: true });
      const deletes = store.requests.filter(({ method }) => method === "DELETE");
      // A DELETE without a version would add a delete marker.
      for (const { url } of deletes) expect(url).toContain("versionId=");
      expect(store.blobs.size).toBe(0);
    }
  });

  test("a delete shows that a bucket keeps versions, if nothing else may", async () => {
    const listed =
      "<DeleteMarker><Key>KEY</Key><VersionId>m1</VersionId><IsLatest>true</IsLatest></DeleteMarker>";
    const store = smallStore({
      answer: ({ method, url }) => {
        const { pathname, searchParams } = new URL(url);
        if (method === "PUT" || searchParams.has("versioning"))
          return errorResponse(403, "AccessDenied");
        if (searchParams.has("versions")) {
          const key = searchParams.get("prefix")!;
          const versions = listed.replace("KEY", key);
          return xmlResponse(`<IsTruncated>false</IsTruncated>${versions}`, "ListVersionsResult");
        }
        if (searchParams.has("list-type")) return xmlResponse("<IsTruncated>false</IsTruncated>");
        if (method !== "DELETE" || searchParams.has("versionId")) return undefined;
        expect(pathname).not.toBe("");
        return new Response(null, { status: 204, headers: { "x-amz-delete-marker": "true" } });
      },
    });
    using fake = served(store.fetch);
    expect(await fake.backend.capabilities!()).toMatchObject({ versions: true });
  });

  test("whether versions are kept is unknown to those who may not ask", async () => {
    using fake = served(({ method, url }) =>
      method === "GET" && url.includes("list-type")
        ? xmlResponse("<IsTruncated>false</IsTruncated>")
        : errorResponse(403, "AccessDenied"),
    );
    expect((await fake.backend.capabilities!()).versions).toBeUndefined();
  });

  test("is tried again if nothing was permitted, as by a clock that is wrong", async () => {
    let isSkewed = true;
    const store = smallStore({
      answer: () => (isSkewed ? errorResponse(403, "RequestTimeTooSkewed") : undefined),
    });
    using fake = served(store.fetch);
    const providers = [fake.backend, versionedBackend(fake.endpoint)];
    const found = async () =>
      Promise.all(providers.map(async (each) => (await each.capabilities!()).conditionalPut));
    try {
      expect(await found()).toEqual([false, false]);
      isSkewed = false;
      // Some credentials never permit it, and each blob may ask.
      expect(await found()).toEqual([false, false]);
      for (const aheadMs of [90_000, -90_000]) {
        setSystemTime(new Date(Date.now() + aheadMs));
        const { length } = store.requests;
        expect(await found()).toEqual([true, true]);
        expect(store.requests.length > length).toBe(aheadMs > 0);
      }
    } finally {
      setSystemTime();
    }
  });

  test("hides the trial blob if its versions may not be deleted, as under object lock", async () => {
    let stored = 0;
    const store = smallStore({
      answer: ({ method, url }) => {
        const { searchParams } = new URL(url);
        if (searchParams.has("versioning")) return errorResponse(403, "AccessDenied");
        if (searchParams.has("versions")) {
          const versions = ["marker", ...(stored > 0 ? ["locked"] : [])].map(
            (id) =>
              `<Version><Key>${searchParams.get("prefix")}</Key><VersionId>${id}</VersionId></Version>`,
          );
          return xmlResponse(
            `<IsTruncated>false</IsTruncated>${versions.join("")}`,
            "ListVersionsResult",
          );
        }
        if (method === "PUT") stored += 1;
        if (method !== "DELETE") return undefined;
        if (searchParams.get("versionId") === "locked") return errorResponse(403, "AccessDenied");
        return new Response(null, { status: 204, headers: { "x-amz-delete-marker": "true" } });
      },
    });
    using fake = served(store.fetch);
    expect(await fake.backend.capabilities!()).toMatchObject({ versions: true });
    const last = store.requests.findLastIndex(({ method }) => method === "PUT");
    const next = store.requests.slice(last).find(({ method }) => method === "DELETE");
    expect(next?.url).not.toContain("versionId");
  });

  test("leaves one blob where checksums are ignored and deletes refused, however often", async () => {
    const names = new Set<string>();
    for (let run = 0; run < 3; run++) {
      using fake = served(({ method, url }) => {
        if (method === "DELETE") return errorResponse(403, "AccessDenied");
        if (url.includes("list-type")) return xmlResponse("<IsTruncated>false</IsTruncated>");
        if (method === "PUT") names.add(new URL(url).pathname);
        return objectResponse();
      });
      await fake.backend.capabilities!();
    }
    expect(names.size).toBe(1);
  });

  test("succeeds if the store does not support GetBucketVersioning", async () => {
    const store = smallStore({
      answer: ({ url }) =>
        url.includes("versioning=") ? errorResponse(501, "NotImplemented") : undefined,
    });
    using fake = served(store.fetch);
    expect(await fake.backend.capabilities!()).toMatchObject({
      conditionalPut: true,
      versions: false,
    });
  });

  test("sends the checksum with every upload", async () => {
    const store = smallStore();
    using fake = served(store.fetch);
    await fake.backend.capabilities!();
    const puts = store.requests.filter(({ method }) => method === "PUT");
    expect(puts).toHaveLength(3);
    for (const { headers } of puts) expect(headers.has("x-amz-checksum-sha256")).toBe(true);
  });

  test("inspects more than the first blob with read-only credentials", async () => {
    const claim = { "x-amz-checksum-sha256": Buffer.from(OTHER, "hex").toString("base64") };
    const entries = [NAME, OTHER].map((name) => `<Contents><Key>${name}</Key></Contents>`);
    using fake = served(({ method, url }) => {
      if (method === "HEAD") {
        return objectResponse({ "content-length": "5", ...(url.includes(OTHER) ? claim : {}) });
      }
      if (method !== "GET") return errorResponse(403, "AccessDenied");
      return xmlResponse(`${entries.join("")}<IsTruncated>false</IsTruncated>`);
    });
    const backend = trustedBackend(fake.endpoint);
    expect((await backend.capabilities!()).verifiesChecksums).toBe(true);
  });
});
