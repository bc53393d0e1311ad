import { describe, expect, test } from "bun:test";
import { type HttpMethod, http } from "../../../src/backend/http.ts";
import { codeOf, random } from "../../support.ts";
import { rejects } from "../rejects.ts";
import { blobServer } from "./blob-server.ts";

const NAME = "ab".padEnd(64, "0123456789");
const BYTES = random(1000);
const METHODS: readonly HttpMethod[] = ["PUT", "GET", "GET", "HEAD", "DELETE"];

async function everyCall(backend: ReturnType<typeof http>): Promise<void> {
  await backend.put(NAME, BYTES);
  await backend.get(NAME, new Uint8Array(1000));
  await backend.getRange!(NAME, 10, new Uint8Array(10));
  await backend.head(NAME);
  await backend.delete(NAME);
}

describe("below one URL", () => {
  test.each(["", "/", "///"])("requests URL/NAME, also if the URL ends with %p", async (end) => {
    using server = blobServer();
    const url = server.url.slice(0, -1) + end;
    const backend = http({ url, headers: { authorization: "Bearer abc" } });
    expect(backend.description).toBe(`http ${server.url}`);
    await everyCall(backend);
    expect(server.requests.map(({ url, method }) => [url, method])).toEqual(
      METHODS.map((method) => [`${server.url}${NAME}`, method]),
    );
    const sent = server.requests.map(({ headers }) => headers.get("authorization"));
    expect(new Set(sent)).toEqual(new Set(["Bearer abc"]));
  });

  test.each([
    "https://me:hidden@files.example/",
    "https://hidden@files.example/",
    "https://files.example/?hidden=1",
    "https://files.example/#hidden",
    "ftp://files.example/hidden",
    "hidden",
  ])("does not accept %p, and does not repeat it", (url) => {
    const error = (() => {
      try {
        return http({ url });
      } catch (error) {
        return error;
      }
    })();
    expect(codeOf(error)).toBe("usage");
    expect(String(error)).not.toContain("hidden");
  });

  test("does not accept a header with a line break, and does not repeat it", () => {
    expect(() => http({ url: "https://files.example", headers: { a: "hidden\nb: c" } })).toThrow(
      /^the headers are malformed: [^\n]*$/u,
    );
  });

  test("follows no redirect, so that no header reaches another server", async () => {
    using other = blobServer();
    using server = blobServer(() => Response.redirect(`${other.url}${NAME}`, 307));
    const backend = http({ url: server.url, headers: { "x-token": "hidden" } });
    for (const call of [
      backend.put(NAME, BYTES),
      backend.get(NAME, new Uint8Array(9)),
      backend.head(NAME),
    ]) {
      const error = await rejects(call, "unavailable", "redirects the request");
      expect(error.transient).toBe(false);
    }
    expect(other.requests).toEqual([]);
  });
});

describe("over a signer", () => {
  test("asks for a URL for each request, with the length of an upload", async () => {
    using server = blobServer();
    const asked: unknown[] = [];
    const backend = http({
      sign(name, method, { size }) {
        asked.push([name, method, size]);
        return new URL(`${server.url}${name}?signature=${method}`);
      },
    });
    await everyCall(backend);
    expect(asked).toEqual(
      METHODS.map((method) => [NAME, method, method === "PUT" ? 1000 : undefined]),
    );
    expect(server.requests.map(({ url }) => new URL(url).search)).toEqual(
      METHODS.map((method) => `?signature=${method}`),
    );
    expect(backend.description).not.toContain(server.url);
  });

  test("sends the headers that are signed, but not those that fetch sets", async () => {
    using server = blobServer();
    const headers = { "if-none-match": "*", host: "other", "content-length": "1" };
    const url = `${server.url}${NAME}`;
    await http({ sign: () => ({ url, headers }) }).put(NAME, BYTES);
    await http({ sign: () => new Request(url, { headers: { "x-a": "b" } }) }).head(NAME);
    const [put, head] = server.requests.map((request) => request.headers);
    expect(put!.get("if-none-match")).toBe("*");
    expect(put!.get("content-length")).toBe("1000");
    expect(put!.get("host")).not.toBe("other");
    expect(head!.get("x-a")).toBe("b");
  });

  test("takes a blob that exists as stored, if the signed condition forbids to replace it", async () => {
    using server = blobServer(() => new Response(null, { status: 412 }));
    const url = `${server.url}${NAME}`;
    await http({ sign: () => ({ url, headers: { "If-None-Match": "*" } }) }).put(NAME, BYTES);
    expect(
      await http({ sign: () => url })
        .put(NAME, BYTES)
        .catch(codeOf),
    ).toBe("unavailable");
  });

  test.each([409, 503])("takes no other response to a condition as stored: %d", async (status) => {
    const text = "<Error><Code>ConditionalRequestConflict</Code></Error>";
    using server = blobServer(() => new Response(text, { status }));
    const request = { url: `${server.url}${NAME}`, headers: { "if-none-match": "*" } };
    const failure = await rejects(http({ sign: () => request }).put(NAME, BYTES), "unavailable");
    expect(failure.transient).toBe(true);
  });

  test("says which method the signer does not allow", async () => {
    using server = blobServer();
    const backend = http({
      sign: (name, method) => (method === "GET" ? `${server.url}${name}` : undefined),
    });
    await rejects(backend.put(NAME, BYTES), "permission", "no URL is signed for PUT");
    await rejects(backend.head(NAME), "permission", "no URL is signed for HEAD");
    await rejects(backend.delete(NAME), "permission", "no URL is signed for DELETE");
    expect(await backend.get(NAME, new Uint8Array(9)).catch(codeOf)).toBe("not-found");
  });

  test.each(["ftp://files.example/hidden", "https://me:hidden@files.example/", "hidden"])(
    "does not send a request to %p, and does not repeat it",
    async (url) => {
      const failure = await rejects(http({ sign: () => url }).head(NAME), "usage", "the URL must");
      expect(String(failure)).not.toContain("hidden");
    },
  );

  test("ends a call whose signer does not answer", async () => {
    const fired: boolean[] = [];
    const backend = http({
      timeouts: { firstByte: 50 },
      sign: (_, __, { signal }) =>
        new Promise(() => signal.addEventListener("abort", () => fired.push(true))),
    });
    const failure = await rejects(backend.head(NAME), "unavailable", "did not respond for 0.1 s");
    expect(failure.transient).toBe(true);
    const call = backend.head(NAME, { signal: AbortSignal.timeout(5) });
    expect(await call.catch(codeOf)).toBe("aborted");
    expect(fired).toEqual([true, true]);
  });
});

test("does not list, and says what to do", async () => {
  const listing = http({ url: "http://127.0.0.1:1/" }).list("");
  await rejects(listing[Symbol.asyncIterator]().next(), "permission", "keep their addresses");
});

test("accepts no name that could lead to another path", async () => {
  using server = blobServer();
  const backend = http({ url: server.url });
  for (const name of ["../secret", `${NAME}/`, NAME.toUpperCase(), ""]) {
    expect(await backend.put(name, BYTES).catch(codeOf)).toBe("usage");
    expect(await backend.get(name, new Uint8Array(9)).catch(codeOf)).toBe("usage");
  }
  expect(server.requests).toEqual([]);
});

test("uses the given fetch", async () => {
  const seen: string[] = [];
  const fetch = async (url: string, { method, redirect }: RequestInit) => {
    seen.push(`${method} ${url} ${redirect}`);
    return new Response(null, { status: 201 });
  };
  await http({ url: "https://files.example/a", fetch }).put(NAME, BYTES);
  expect(seen).toEqual([`PUT https://files.example/a/${NAME} manual`]);
});

test("hands out a copy of the bytes, which a runtime may read on after an abort", async () => {
  const bytes = new Uint8Array(10);
  let body: unknown;
  const fetch = async (_: string, init: RequestInit) => {
    ({ body } = init);
    return new Response(null, { status: 201 });
  };
  // A Buffer, whose `slice` is no copy.
  await http({ url: "https://files.example/a", fetch }).put(NAME, Buffer.from(bytes.buffer));
  bytes.fill(1);
  expect(body).toEqual(new Uint8Array(10));
});
