import { describe, expect, test } from "bun:test";
import { NAME, served } from "./fixtures.ts";
import { codeOf, random } from "../../support.ts";

const BYTES = random(300_000);

describe("a ranged read", () => {
  test("requests no more than the buffer holds", async () => {
    const ranges: (string | null)[] = [];
    using at = served((request) => {
      ranges.push(request.headers.get("range"));
      const headers = { "content-range": "bytes 1000-1063/300000" };
      return new Response(BYTES.slice(1000, 1064), { status: 206, headers });
    });
    const buffer = new Uint8Array(64);
    expect(await at.backend.getRange!(NAME, 1000, buffer)).toBe(64);
    expect(buffer).toEqual(BYTES.slice(1000, 1064));
    expect(ranges).toEqual(["bytes=1000-1063"]);
  });

  test.each([0, 1, 150_000, 299_990, 300_000, 400_000])(
    "from %d on finds the range in the whole blob if the server ignores ranges",
    async (offset) => {
      using at = served(() => new Response(BYTES));
      const buffer = new Uint8Array(64);
      const length = await at.backend.getRange!(NAME, offset, buffer);
      expect(buffer.slice(0, length)).toEqual(BYTES.slice(offset, offset + 64));
    },
  );

  test("rejects a response with a later range than was requested", async () => {
    const headers = { "content-range": "bytes 2000-2063/300000" };
    using at = served(() => new Response(BYTES.slice(2000, 2064), { status: 206, headers }));
    const reading = at.backend.getRange!(NAME, 1000, new Uint8Array(64));
    expect(await reading.catch(codeOf)).toBe("unavailable");
  });
});
