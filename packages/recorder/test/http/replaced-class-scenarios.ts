import assert from "node:assert/strict";
import type { FetchFunction } from "../../src/capture/outbound.ts";
import { newArchive } from "../support/archive.ts";
import { only } from "./outbound-scenarios.ts";
import type { Scenario } from "./raw.ts";

const { Response: OriginalResponse } = globalThis;
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

/** Runs what an application does after `serve` of `@hono/node-server`. */
async function withReplacedClasses<T>(work: () => Promise<T>): Promise<T> {
  globalThis.Response = ReplacedResponse as unknown as typeof Response;
  try {
    return await work();
  } finally {
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
];
