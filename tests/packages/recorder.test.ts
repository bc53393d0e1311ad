import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { ensureBuilt } from "../built.ts";
import { emptyProject, NPM_INSTALL, ok, root } from "./projects.ts";
import { join } from "node:path";
import { skipIfMissing } from "../servers/require-server.ts";
import { tmpdir } from "node:os";

/*
 * The recorder as it is packed: installed from the tarballs into an empty project, and used there. What is
 * in the tarball is in packages.test.ts.
 */

setDefaultTimeout(180_000);

const PROGRAM = `
  import { createServer } from "node:http";
  import { createRecorder } from "@idk/recorder";
  import { readExchanges } from "@idk/recorder/read";
  import { createStore, generateIdentity } from "@idk/storage";
  import { memory } from "@idk/storage/memory";

  const identity = await generateIdentity();
  const backend = memory();
  const recorder = createRecorder({
    backend,
    recipients: [identity.recipient],
    spool: "spool",
    onError: (error) => console.error(error),
  });
  const server = createServer((request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ password: "canary" }));
  });
  recorder.attach(server);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const fetch = recorder.fetch(globalThis.fetch);
  await (await fetch("http://127.0.0.1:" + server.address().port + "/a")).text();
  server.closeAllConnections();
  server.close();
  await recorder.close();
  const store = createStore({ backend, identities: [identity] });
  for await (const { direction, response } of readExchanges(store)) {
    console.log(direction, response.status, response.body.text);
  }
`;
const PRINTED = 'out 200 {"password":"***"}\nin 200 {"password":"***"}\n';

let folder: string;
let storage: string;
let recorder: string;

async function pack(name: string): Promise<string> {
  const into = join(folder, `packed-${name}`);
  await mkdir(into);
  await ok([process.execPath, "pm", "pack", "--destination", into], join(root, "packages", name));
  return join(into, (await readdir(into))[0]!);
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "idk-recorder-package-"));
  await ensureBuilt();
  storage = await pack("storage");
  recorder = await pack("recorder");
});
afterAll(() => rm(folder, { recursive: true }));

const npm = Bun.which("npm");
const node = Bun.which("node");
skipIfMissing(npm === null || node === null ? ["npm"] : [])("with npm", () => {
  test("it records and reads on Node", async () => {
    const at = await emptyProject(folder, "npm");
    await ok([npm!, ...NPM_INSTALL, storage, recorder], at);
    await writeFile(join(at, "program.mjs"), PROGRAM);
    expect(await ok([node!, "program.mjs"], at)).toBe(PRINTED);
    expect(await readdir(join(at, "spool"))).toEqual([]);
  });
});

test("it records and reads on Bun", async () => {
  const at = await emptyProject(folder, "bun");
  const dependencies = { "@idk/storage": `file:${storage}`, "@idk/recorder": `file:${recorder}` };
  await writeFile(
    join(at, "package.json"),
    JSON.stringify({
      private: true,
      type: "module",
      dependencies,
      // The recorder depends on a version of the library that may not be published yet.
      overrides: { "@idk/storage": dependencies["@idk/storage"] },
    }),
  );
  await ok([process.execPath, "install"], at);
  await writeFile(join(at, "program.mjs"), PROGRAM);
  expect(await ok([process.execPath, "program.mjs"], at)).toBe(PRINTED);
});
