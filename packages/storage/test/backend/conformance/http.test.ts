import { describe, test } from "bun:test";
import { http } from "../../../src/backend/http.ts";
import { wrapBackend } from "../../../src/backend/wrap.ts";
import { backendConformance, type BackendFixture } from "../../../src/testing/index.ts";
import { blobServer } from "../http/blob-server.ts";

/** HTTP has no listing, so the suite lists what the server holds. */
function overHttp(signs: boolean): BackendFixture {
  const server = blobServer();
  const open = () =>
    wrapBackend(
      http(signs ? { sign: async (name) => `${server.url}${name}?signed` } : { url: server.url }),
      { list: () => server.blobs.list },
    );
  return { backend: open(), reopen: open, cleanup: () => server[Symbol.dispose]() };
}

for (const signs of [false, true]) {
  describe(`http ${signs ? "with signed URLs" : "below one URL"}`, () => {
    for (const { name, run } of backendConformance({ open: () => overHttp(signs) }))
      test(name, run, 60_000);
  });
}
