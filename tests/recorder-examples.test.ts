import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createStore, generateIdentity } from "@idk/storage";
import { readExchanges } from "@idk/recorder/read";
import { filesystem } from "@idk/storage/filesystem";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { skipIfMissing } from "./servers/require-server.ts";
import { tmpdir } from "node:os";
import { join } from "node:path";

/* The servers of examples/recorder: what a client sends and receives, and what is in the archive. */

const examples = join(import.meta.dir, "../examples");
const identity = await generateIdentity();
const node = Bun.which("node");
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "idk-recorder-examples-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function recorded(runtime: readonly string[], name: string): Promise<void> {
  const own = await mkdtemp(join(folder, name));
  const [archive, spool] = [join(own, "archive"), join(own, "spool")];
  const program = [`recorder/${name}.ts`, archive, spool, identity.recipient, "0"];
  const server = Bun.spawn([...runtime, ...program], {
    cwd: examples,
    stdout: "pipe",
    stderr: "pipe",
  });
  let output = "";
  for await (const piece of server.stdout) {
    output += new TextDecoder().decode(piece);
    if (output.includes("\n")) break;
  }
  const url = /http:\S+/u.exec(output)?.[0];
  if (url !== undefined) {
    const sent = JSON.stringify({ email: "me@example.org", password: "canary-1" });
    const response = await fetch(`${url}login`, {
      method: "POST",
      body: sent,
      headers: { "content-type": "application/json" },
    });
    expect(response.status).toBe(401);
    expect(await response.json()).toEqual({ email: "me@example.org", token: "a token" });
    expect((await fetch(`${url}users/7`)).status).toBeOneOf([403, 404]);
  }
  server.kill("SIGTERM");
  const stderr = await new Response(server.stderr).text();
  expect({ stderr, code: await server.exited }).toEqual({ stderr: "", code: 0 });
  expect(await readdir(spool)).toEqual([]);

  const store = createStore({ backend: filesystem(archive), identities: [identity] });
  const exchanges = await Array.fromAsync(readExchanges(store, {}));
  const [login, users] = exchanges;
  expect(exchanges).toHaveLength(2);
  expect(login).toMatchObject({ direction: "in", request: { method: "POST", url: "/login" } });
  expect(JSON.parse(login!.request.body!.text!)).toEqual({
    email: expect.stringMatching(/^hash:[0-9a-f]{32}$/u),
    password: "***",
  });
  expect(JSON.parse(login!.response!.body!.text!)).toEqual({
    email: (JSON.parse(login!.request.body!.text!) as { email: string }).email,
    token: "***",
  });
  expect(users!.request.url).toBe("/users/7");
  if (name === "express") expect(users!.route).toBe("/users/:id");
}

test("records a server on Bun", () => recorded([process.execPath], "bun"));

describe.each(["hono", "express", "fastify"])("%s", (name) => {
  test("is recorded on Bun", () => recorded([process.execPath], name));

  skipIfMissing(node === null ? ["Node.js"] : [])("on Node", () => {
    test("is recorded", () => recorded([node!, "--import", "tsx", "--conditions=bun"], name));
  });
});
