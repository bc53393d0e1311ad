import { expect, test } from "bun:test";
import { newArchive } from "../support/archive.ts";
import { until } from "../support/until.ts";

const SSE = { "content-type": "text/event-stream" };

/** A stream that sends one event, and never ends. */
function endless(): ReadableStream {
  let sent = false;
  return new ReadableStream({
    async pull(controller) {
      if (sent) await new Promise(() => {});
      sent = true;
      controller.enqueue(new TextEncoder().encode("data: 0\n\n"));
    },
  });
}

class OwnResponse extends Response {
  readonly more = "y".repeat(5000);
}

const answers: Record<string, (upstream: URL) => Response | Promise<Response>> = {
  plain: () => new Response(endless(), { headers: SSE }),
  "of fetch": (upstream) => fetch(upstream),
  "of fetch, put into another response": async (upstream) => {
    const response = await fetch(upstream);
    return new Response(response.body, response);
  },
  "of fetch, put into one without a reason": async (upstream) =>
    new Response((await fetch(upstream)).body, { headers: SSE }),
  "of fetch, rewritten": async (upstream) => new HTMLRewriter().transform(await fetch(upstream)),
  "in a subclass": () => new OwnResponse(endless(), { headers: SSE }),
  "in a response with properties": () =>
    Object.assign(new Response(endless(), { headers: SSE }), { requestId: "a", started: 1 }),
  "with a long reason": () =>
    new Response(endless(), { headers: SSE, statusText: "S".repeat(3000) }),
  "with many headers": () => {
    const more = Array.from({ length: 60 }, (_, i) => [`x-h${i}`, "v".repeat(100)]);
    return new Response(endless(), { headers: { ...SSE, ...Object.fromEntries(more) } });
  },
  "whose headers look like a body in memory": () =>
    new Response(endless(), { headers: { ...SSE, a: "bodyUsed: false, Blob (1 bytes)" } }),
};

for (const [name, answer] of Object.entries(answers)) {
  test(`an endless stream ${name} sends its first bytes at once`, async () => {
    await using archive = newArchive();
    using upstream = Bun.serve({
      port: 0,
      fetch: () => new Response(endless(), { headers: SSE }),
    });
    using server = Bun.serve({
      port: 0,
      fetch: archive.recorder.handler(() => answer(upstream.url)),
    });
    const gone = new AbortController();
    const response = await fetch(server.url, {
      signal: AbortSignal.any([gone.signal, AbortSignal.timeout(3000)]),
    });
    const { value } = await response.body!.getReader().read();
    expect(new TextDecoder().decode(value)).toBe("data: 0\n\n");
    gone.abort();
    await until(() => archive.recorder.stats().open === 0);
    await archive.exchanges();
    expect(archive.recorder.stats()).toMatchObject({ seen: 1, stored: 1, open: 0, queuedBytes: 0 });
  });
}
