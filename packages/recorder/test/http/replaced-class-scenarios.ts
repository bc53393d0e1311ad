import assert from "node:assert/strict";
import type { FetchFunction } from "../../src/capture/outbound.ts";
import { newArchive } from "../support/archive.ts";
import { until } from "../support/until.ts";
import { only } from "./outbound-scenarios.ts";
import type { Scenario } from "./raw.ts";

const { Request: OriginalRequest, Response: OriginalResponse } = globalThis;
const FORM = { headers: { "content-type": "application/x-www-form-urlencoded" } };
const TEXT = { headers: { "content-type": "text/plain" } };

/** Inherits from the original one without its constructor, as that of `@hono/node-server` does. */
function ReplacedResponse(this: { original: Response }, body?: BodyInit, init?: ResponseInit) {
  this.original = new OriginalResponse(body, init);
}
Object.setPrototypeOf(ReplacedResponse, OriginalResponse);
Object.setPrototypeOf(ReplacedResponse.prototype, OriginalResponse.prototype);
// It knows no `bytes`, which therefore meets an object that the runtime did not make.
for (const name of ["arrayBuffer", "blob", "formData", "json", "text"] as const) {
  Object.defineProperty(ReplacedResponse.prototype, name, {
    value(this: { original: Response }) {
      return this.original[name]();
    },
  });
}
class ReplacedRequest extends OriginalRequest {}

/** Runs what an application does after `serve` of `@hono/node-server`. */
async function withReplacedClasses<T>(work: () => Promise<T>): Promise<T> {
  globalThis.Request = ReplacedRequest;
  globalThis.Response = ReplacedResponse as unknown as typeof Response;
  try {
    return await work();
  } finally {
    globalThis.Request = OriginalRequest;
    globalThis.Response = OriginalResponse;
  }
}

/** All ways to read a body at once. */
const readers: Record<string, (response: Response) => Promise<unknown>> = {
  arrayBuffer: async (response) => Buffer.from(await response.arrayBuffer()).toString(),
  blob: async (response) => (await response.blob()).text(),
  bytes: async (response) => Buffer.from(await response.bytes()).toString(),
  formData: async (response) => Array.from(await response.formData()).flat(),
  json: (response) => response.json(),
  text: (response) => response.text(),
};

/** The global classes were replaced; run on Bun and on Node. */
export const replacedClassScenarios: readonly Scenario[] = [
  ...Object.entries(readers)
    // Not every runtime has `bytes`.
    .filter(([name]) => name in OriginalResponse.prototype)
    .map(([name, read]) => ({
      name: `replaced classes: a response of the original class is read by ${name}`,
      async run() {
        await using archive = newArchive();
        const body = name === "formData" ? "a=1" : "[1]";
        const init = name === "formData" ? FORM : TEXT;
        const answer: FetchFunction = async () => new OriginalResponse(body, init);
        const plain = await read(await answer("http://a/"));
        const fetch = archive.recorder.fetch(answer);
        const result = await withReplacedClasses(async () => read(await fetch("http://a/")));
        assert.deepEqual(result, plain);
        assert.equal(only(await archive.exchanges()).response?.body?.text, body);
      },
    })),
  ...[OriginalRequest, class extends OriginalRequest {}].map((Class, i) => ({
    name: `replaced classes: fetch with a request of ${i === 0 ? "the original class" : "its subclass"}`,
    async run() {
      await using archive = newArchive();
      const fetch = archive.recorder.fetch<FetchFunction>(
        async () => new OriginalResponse(null, { status: 204 }),
      );
      const sent = new Class("http://a/b", { method: "PUT", body: "x", headers: { "x-a": "b" } });
      await withReplacedClasses(() => fetch(sent));
      const { faults, seen } = archive.recorder.stats();
      assert.deepEqual([faults, seen], [0, 1]);
      const { request, response } = only(await archive.exchanges());
      assert.deepEqual([request.method, request.url], ["PUT", "http://a/b"]);
      assert.ok(request.headers.some(([name, value]) => name === "x-a" && value === "b"));
      assert.deepEqual([request.body?.why, response?.status], ["unseen", 204]);
    },
  })),
  {
    name: "replaced classes: a handler answers with the original class",
    async run() {
      await using archive = newArchive();
      const handle = archive.recorder.handler(
        () => new OriginalResponse("[2]", { ...TEXT, status: 201 }),
      );
      const answer = await withReplacedClasses(async () =>
        handle(new OriginalRequest("http://a/")),
      );
      assert.equal(Object.getPrototypeOf(answer), OriginalResponse.prototype);
      assert.equal(await answer.text(), "[2]");
      await until(() => archive.recorder.stats().open === 0);
      assert.equal(only(await archive.exchanges()).response?.status, 201);
    },
  },
];
