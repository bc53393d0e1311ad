import { expect, test } from "bun:test";
import { memory } from "../../../src/backend/memory.ts";
import { createStore } from "../../../src/index.ts";
import { sha256 } from "../../support.ts";
import { errorResponse, objectResponse, served } from "./fixtures.ts";

test("a trial blob left behind by a crash is a valid blob for no one", async () => {
  const left: [name: string, bytes: Uint8Array][] = [];
  // Rejects all requests after the first upload.
  const crashing = async (request: Request): Promise<Response> => {
    if (left.length > 0) return new Response(null, { status: 500 });
    if (request.method !== "PUT") return new Response(null, { status: 204 });
    const bytes = await request.bytes();
    const hash = Buffer.from(sha256(bytes), "hex").toString("base64");
    if (request.headers.get("x-amz-checksum-sha256") !== hash)
      return errorResponse(400, "BadDigest");
    left.push([new URL(request.url).pathname.split("/").at(-1)!, bytes]);
    return objectResponse();
  };
  const names = new Set<string>();
  for (let run = 0; run < 2; run++) {
    using fake = served(crashing);
    expect(await fake.backend.capabilities!().catch(() => "crashed")).toBe("crashed");
    const [[name, bytes] = ["", new Uint8Array()]] = left.splice(0);
    const backend = memory();
    await backend.put(name, bytes);
    expect(await createStore({ backend }).verify(name)).toMatchObject({ kind: "child" });
    names.add(name);
  }
  // Concurrent clients use different names.
  expect(names.size).toBe(2);
});
