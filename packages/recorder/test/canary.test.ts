import { expect, spyOn, test } from "bun:test";
import { memory } from "@idk/storage/memory";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRecorder, type RedactRule } from "../src/index.ts";
import { identity, segmentsIn } from "./support/archive.ts";

/*
 * Secrets that occur nowhere else, in every place that a rule covers, are found nowhere afterwards:
 * not in opened segments, the spool, logs, errors or counts.
 */

let secrets: string[] = [];

function secret(): string {
  const made = `canary${crypto.randomUUID().replaceAll("-", "")}`;
  secrets.push(made);
  return made;
}

function jwt(header = '{"alg":"HS256","typ":"JWT"}'): string {
  const part = (json: string): string => Buffer.from(json).toString("base64url");
  const signature = secret();
  const payload = part(JSON.stringify({ sub: secret() }));
  secrets.push(payload);
  return `${part(header)}.${payload}.${signature}`;
}

/** As load balancers of AWS issue them. */
function padded(token: string): string {
  return token.replaceAll(/[^.]+/gu, (part) => part.padEnd(Math.ceil(part.length / 4) * 4, "="));
}

/** Would be stored as other characters if it were taken for UTF-16. */
function ascii(): string {
  const text = `password: ${secret()}`;
  secrets.push(Buffer.from(text).toString("utf16le"));
  return text;
}

/** In UTF-16 that its type does not name. */
function unmarked(): Uint8Array<ArrayBuffer> {
  const made = secret();
  secrets.push(JSON.stringify(Buffer.from(made, "utf16le").toString()).slice(1));
  return Uint8Array.from(Buffer.from(`password: ${made}`, "utf16le"));
}

/** JSON in a string of JSON, that many times. */
function nested(value: unknown, times: number): string {
  const text = JSON.stringify(value);
  return times === 1 ? text : nested({ a: text }, times - 1);
}

/** A URL as a parameter of another, that many times. */
function redirect(times: number): string {
  const url = `https://me:${secret()}@h/?access_token=${secret()}&card=${card()}`;
  let whole = url;
  for (let n = 0; n < times; n++) whole = `https://h/?next=${encodeURIComponent(whole)}`;
  return whole;
}

function plainText(): string {
  return [
    `password=correct ${secret()} battery`,
    `password: ${jwt()} ${secret()}`,
    `password=it's-${secret()}`,
    `password:\n${secret()}`,
    `the token =\r\n\r\n  ${secret()} b`,
    `GET ${redirect(1)} HTTP/1.1`,
    `{"token": "${secret()}"`,
  ].join("\n");
}

/** 16 digits with a valid Luhn checksum. */
function card(): string {
  const digits = [4, ...Array.from({ length: 14 }, () => Math.floor(Math.random() * 10))];
  let sum = 0;
  for (const [i, digit] of digits.toReversed().entries()) {
    const double = digit * (i % 2 === 0 ? 2 : 1);
    sum += double > 9 ? double - 9 : double;
  }
  const number = `${digits.join("")}${(10 - (sum % 10)) % 10}`;
  secrets.push(number);
  return number;
}

const RULES: readonly RedactRule[] = [
  { header: "x-tenant", action: "hash" },
  { name: "email", action: "hash" },
  { path: "user.notes", route: "/*", action: "drop" },
  { path: "items.*.code", action: "replace", with: "code" },
  { path: "deep.**.pin", action: "mask" },
];

function body(): string {
  return JSON.stringify({
    password: secret(),
    Pass_Word: secret(),
    apiToken: secret(),
    "session-id": secret(),
    cvv: secret(),
    ssn: secret(),
    email: secret(),
    note: `see ${jwt()} and ${card()}`,
    user: {
      notes: { any: [secret()] },
      list: [{ client_secret: secret() }],
    },
    items: [{ code: secret() }, { code: secret() }],
    deep: { a: [{ b: { pin: secret() } }] },
    link: `https://me:${secret()}@files.example/a?X-Amz-Signature=${secret()}`,
    inside: JSON.stringify({ password: secret() }),
    deepInside: nested({ password: secret() }, 5),
    callback: `/cb?redirect=${encodeURIComponent(`/x?password=${secret()}`)}`,
    message: `password=correct ${secret()} battery`,
    lines: `password=\n${secret()} b`,
    quote: `user:email=${secret()} password=it's-${secret()}`,
    error: `bad: {"password":"${secret()}"}`,
    spaced: `see ${jwt('{ "alg":"HS256"}')}`,
    pass: secret(),
    pin: secret(),
    otp: secret(),
    jwt: secret(),
    auth: secret(),
  });
}

/** A value that begins before the limit for bodies and ends after it, and is split into chunks. */
function longBody(limit: number): string {
  const filler = "x".repeat(limit - 20);
  return `{"filler":"${filler}","password":"${secret()}${secret()}"}`;
}

const LIMIT = 4096;

function headers(): Record<string, string> {
  return {
    authorization: `Bearer ${secret()}`,
    "proxy-authorization": `Basic ${secret()}`,
    cookie: `a=${secret()}; b=${secret()}`,
    "x-api-key": secret(),
    "x-auth-token": secret(),
    "x-tenant": secret(),
    "x-anything": `token ${jwt()}`,
    "x-amzn-oidc-data": padded(jwt()),
    "x-word": `keyJwt.${jwt()}`,
    "x-from": redirect(1),
    "x-to": redirect(2),
    "x-far": redirect(6),
    "x-card": `https://h/?card=${card().replaceAll(/(\d{4})(?=\d)/gu, "$1+")}`,
    "x-error": `password=correct ${secret()} battery`,
    "x-csrf": secret(),
    [jwt()]: "1",
  };
}

const query = (): string =>
  `?password=${secret()}&email=${secret()}&access_token=${secret()}&next=${encodeURIComponent(redirect(2))}`;

test("secrets that rules cover are found nowhere", async () => {
  secrets = [];
  const store = memory();
  const spool = await mkdtemp(join(tmpdir(), "idk-recorder-canary-"));
  const errors: unknown[] = [];
  const printed: unknown[] = [];
  const spies = (["log", "warn", "error", "info", "debug"] as const).map((name) =>
    spyOn(console, name).mockImplementation((...given: unknown[]) => void printed.push(given)),
  );
  let broken = true;
  const recorder = createRecorder({
    // In the spool first, to look at it there.
    backend: {
      ...store,
      put: async (...given) => (broken ? Promise.reject(new Error("down")) : store.put(...given)),
    },
    recipients: [identity.recipient],
    spool,
    redact: RULES,
    limits: { bodyBytes: LIMIT },
    keep: () => {
      throw new Error(secret());
    },
    onError: (error) => errors.push(error),
  });
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    for await (const chunk of request) void chunk;
    // Express mounts routers on patterns, and then gives the path for them.
    Object.assign(request, { baseUrl: `/invite/${jwt()}/${card()}`, route: { path: "/:route" } });
    if (request.url!.startsWith("/throws")) {
      response.destroy(new Error(secret()));
      return;
    }
    response.setHeader("content-type", "application/json; charset=utf-8");
    response.setHeader("set-cookie", [
      `sid=${secret()}; Path=/`,
      `other=${secret()}`,
      `a=1; Path=/, sid=${secret()}`,
      `a=1; Expires=Wed, 09 Jun 2027 10:18:14 GMT, sid=${secret()}`,
    ]);
    response.setHeader("x-api-key", secret());
    const text = request.url!.startsWith("/long") ? longBody(LIMIT) : body();
    for (let i = 0; i < text.length; i += 7) response.write(text.slice(i, i + 7));
    response.end();
  };
  const server = createServer((request, response) => void answer(request, response));
  recorder.attach(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const fetch = recorder.fetch(globalThis.fetch);
  const handle = recorder.handler((request: Request) =>
    request.text().then(() => Response.json(JSON.parse(body()), { headers: headers() })),
  );

  const json = (text: string): RequestInit => ({
    method: "POST",
    body: text,
    headers: { ...headers(), "content-type": "application/json" },
  });
  const url = `http://127.0.0.1:${port}`;
  const calls: Promise<unknown>[] = [];
  for (const path of ["/api/a", "/long", "/throws"]) {
    const read = (response: Response): Promise<string> => response.text();
    calls.push(
      fetch(`${url}${path}${query()}`, { headers: headers() })
        .then(read)
        .catch(() => {}),
      fetch(`${url}${path}`, json(body()))
        .then(read)
        .catch(() => {}),
      fetch(`${url}${path}`, json(longBody(LIMIT)))
        .then(read)
        .catch(() => {}),
      fetch(`${url}${path}`, {
        method: "POST",
        body: new URLSearchParams({ password: secret(), email: secret(), "user[notes]": secret() }),
      })
        .then(read)
        .catch(() => {}),
      // Broken and undecodable bodies, and ones of unknown type, are not kept at all.
      fetch(`${url}${path}`, json(`{"a":"${secret()}"`))
        .then(read)
        .catch(() => {}),
      fetch(`${url}${path}`, {
        method: "POST",
        body: secret(),
        headers: { "content-type": "text/html" },
      })
        .then(read)
        .catch(() => {}),
      fetch(`${url}${path}`, {
        method: "POST",
        body: secret(),
        headers: { "content-type": "application/json", "content-encoding": "gzip" },
      })
        .then(read)
        .catch(() => {}),
      Promise.resolve(handle(new Request(`http://a${path}${query()}`, json(body())))).then(
        (response) => response.text(),
      ),
    );
    for (const [type, text] of [
      ["text/plain", plainText()],
      ["text/plain; charset=utf-16le", ascii()],
      ["text/plain", unmarked()],
      ["text/event-stream", plainText().replaceAll(/^/gmu, "data: ")],
      ["text/event-stream", `data: a\ndata: password: ${secret()}\n\n`],
    ] as const) {
      calls.push(
        fetch(`${url}${path}`, { method: "POST", body: text, headers: { "content-type": type } })
          .then(read)
          .catch(() => {}),
      );
    }
    const form = new FormData();
    form.set("file", secret());
    calls.push(fetch(url, { method: "POST", body: form }).then(read));
  }
  await Promise.all(calls);
  await recorder.flush(50);

  const found = async (): Promise<string[]> => {
    const places = [errors, printed, recorder.stats()].map((value) =>
      Bun.inspect(value, { depth: 20 }),
    );
    // Those that are being written are there under their own names soon.
    const files = (await readdir(spool)).filter((file) => !file.endsWith(".partial"));
    for (const file of files) {
      places.push(file, Buffer.from(await Bun.file(join(spool, file)).bytes()).toString("latin1"));
    }
    for (const { metadata, text } of await segmentsIn(store)) {
      places.push(JSON.stringify(metadata), text);
    }
    const all = places.join("\n");
    return secrets.filter((one) => all.includes(one.slice(0, 16)));
  };
  try {
    expect(await readdir(spool)).not.toEqual([]);
    expect(await found()).toEqual([]);
    broken = false;
    expect(await recorder.close()).toBe(true);
    for (const spy of spies) spy.mockRestore();
    const text = (await segmentsIn(store)).map((segment) => segment.text).join("");
    // They were recorded, and what surrounds them is there.
    expect(text.split("\n").length - 1).toBe(recorder.stats().stored);
    expect(recorder.stats().stored).toBeGreaterThan(40);
    for (const kept of [
      "Bearer ***",
      "sid=***",
      "hash:",
      "filler",
      "/api/a?password=***",
      "/:route",
    ]) {
      expect(text).toContain(kept);
    }
    expect(await found()).toEqual([]);
    expect(secrets.length).toBeGreaterThan(500);
  } finally {
    for (const spy of spies) spy.mockRestore();
    server.closeAllConnections();
    server.close();
    await rm(spool, { recursive: true });
  }
}, 120_000);
