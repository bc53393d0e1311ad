import { describe, expect, test } from "bun:test";
import { systemError } from "../../../src/backend/filesystem/errors.ts";
import { decodeEntities } from "../../../src/backend/http/entities.ts";
import { initBucket } from "../../../src/backend/s3/provision/init-bucket.ts";
import { createStore, StorageError } from "../../../src/index.ts";
import { alice, codeOf } from "../../support.ts";
import {
  errorResponse,
  first,
  locationsAt,
  NAME,
  objectResponse,
  served,
  xmlResponse,
} from "./fixtures.ts";

/** Names that every plain object inherits, and that must not be found in a table of ours. */
const INHERITED = ["constructor", "__proto__", "toString", "hasOwnProperty", "valueOf"];

const BYTES = new Uint8Array(100).fill(7);
const ONCE = { retry: { budgetMs: 0, minAttempts: 1 } };

describe.each(INHERITED)("the name %s from a server", (name) => {
  test.each([400, 403, 404, 500])("as the code of an error %p is unknown", async (status) => {
    using fake = served(() => errorResponse(status, name));
    const { backend } = fake;
    for (const call of [
      () => backend.put(NAME, BYTES),
      () => backend.get(NAME, new Uint8Array(1)),
      () => backend.delete(NAME),
      () => first(backend.list("")),
      () => backend.capabilities!(),
      ...locationsAt(fake.endpoint).map(
        (location) => () => initBucket(location, { versioning: true, lifecycleDays: 1 }, ONCE),
      ),
    ]) {
      const error = await call().then(
        () => undefined,
        (reason: unknown) => reason,
      );
      if (error === undefined) continue;
      expect(error).toBeInstanceOf(StorageError);
      expect(["not-found", "permission", "unavailable"]).toContain(String(codeOf(error)));
    }
  });

  test("as the code of an error fails one item of a batch, and not the batch", async () => {
    const blobs = new Map<string, Uint8Array>();
    let failing = "";
    using fake = served(async (request) => {
      const { pathname } = new URL(request.url);
      if (request.method === "PUT") {
        blobs.set(pathname, await request.bytes());
        return objectResponse();
      }
      if (failing !== "" && pathname.endsWith(failing)) return errorResponse(400, name);
      return new Response(blobs.get(pathname) as Uint8Array<ArrayBuffer>);
    });
    const store = createStore({
      backend: fake.backend,
      recipients: [alice.recipient],
      identities: [alice],
    });
    const addresses = [await store.put("one"), await store.put("two"), await store.put("three")];
    failing = addresses[1]!;
    const results = await Array.fromAsync(store.getMany(addresses));
    const failed = results.filter(({ ok }) => !ok);
    expect(results).toHaveLength(3);
    expect(failed).toMatchObject([{ key: failing, error: { code: "unavailable" } }]);
  });

  test("as an element is ignored", async () => {
    const entry = `<${name}>x</${name}><Contents><Key>${NAME}</Key><${name}/><Size>5</Size></Contents>`;
    using fake = served(() => xmlResponse(`${entry}<IsTruncated>false</IsTruncated>`));
    expect(await Array.fromAsync(fake.backend.list(""))).toEqual([{ name: NAME, size: 5 }]);
    expect(decodeEntities(`&${name};`)).toBe(`&${name};`);
  });

  test("as the code of a system error is unknown", () => {
    const error = Object.assign(new Error("broken"), { code: name });
    expect(systemError(error, "read")).toMatchObject({
      code: "unavailable",
      message: "cannot read: broken",
    });
  });
});
