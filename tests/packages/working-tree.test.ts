import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { cp, mkdtemp, rm } from "node:fs/promises";
import {
  emptyProject,
  NPM_INSTALL,
  ok,
  root,
  ROUND_TRIP,
  roundTripProject,
  run,
} from "./projects.ts";
import { basename, join } from "node:path";
import { skipIfMissing } from "../servers/require-server.ts";
import { tmpdir } from "node:os";

/*
 * The packages installed by the paths of their folders in a clone, into projects outside of the clone.
 * Package managers then read the manifests in the clone as they are.
 */

setDefaultTimeout(120_000);

const npm = Bun.which("npm");
const node = Bun.which("node");
const skipWithoutNode = skipIfMissing(npm === null || node === null ? ["npm"] : []);
let folder: string;

/** Copies what a fresh clone has of the workspace. */
async function cloneTo(at: string): Promise<string> {
  const ignored = new Set(["node_modules", "dist", "man"]);
  const names = ["package.json", "bun.lock", "tsconfig.json", "packages", "examples", "script"];
  for (const name of names) {
    await cp(join(root, name), join(at, name), {
      recursive: true,
      filter: (path) => !ignored.has(basename(path)),
    });
  }
  return at;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "idk-working-tree-"));
});
afterAll(() => rm(folder, { recursive: true }));

describe("a clone after `bun install`", () => {
  let clone: string;

  beforeAll(async () => {
    clone = await cloneTo(join(folder, "clone"));
    await ok([process.execPath, "install", "--frozen-lockfile"], clone);
  });

  test("`bun add PATH` installs a library that works on Bun and on Node", async () => {
    const at = await roundTripProject(folder, "bun");
    await ok([process.execPath, "add", join(clone, "packages/storage")], at);
    for (const runtime of [process.execPath, ...(node === null ? [] : [node])]) {
      expect(await ok([runtime, ROUND_TRIP, "portable", "brief"], at)).toMatch(
        /^portable: 5 known answers/u,
      );
    }
  });

  test("`bun add PATH` installs a command that works", async () => {
    const at = await emptyProject(folder, "bun-command");
    await ok([process.execPath, "add", join(clone, "packages/cli")], at);
    const main = join(at, "node_modules/@idk/cli/dist/main.cjs");
    expect(await ok([process.execPath, main, "--version"], at)).toContain("NaCl native");
    if (node === null) return;
    expect(await ok([join(at, "node_modules/.bin/idk"), "--version"], at)).toStartWith("idk ");
  });

  skipWithoutNode("with npm", () => {
    test("`npm install PATH` installs a command that works", async () => {
      const at = await emptyProject(folder, "npm-command");
      await rm(join(clone, "packages/cli/dist"), { recursive: true });
      await ok([npm!, ...NPM_INSTALL, join(clone, "packages/cli")], at);
      expect(await ok(["npx", "--no", "--", "idk", "--version"], at)).toContain("NaCl native");
    });

    test("`npm install PATH` installs a library that works on Node", async () => {
      const at = await roundTripProject(folder, "npm");
      // As after a pull that changed the sources: npm builds again.
      await rm(join(clone, "packages/storage/dist"), { recursive: true });
      await ok([npm!, ...NPM_INSTALL, join(clone, "packages/storage")], at);
      expect(await ok([node!, ROUND_TRIP, "native"], at)).toMatch(/^native: 5 known answers/u);
    });
  });
});

skipWithoutNode("a clone without its packages", () => {
  test.each(["storage", "cli"])(
    "`npm install PATH` of %s names the command to run first",
    async (name) => {
      const clone = await cloneTo(join(folder, `bare-${name}`));
      const at = await emptyProject(folder, `early-${name}`);
      const path = process.env["PATH"]
        ?.split(":")
        .filter((entry) => !entry.includes("node_modules"));
      const { code, stdout, stderr } = await run(
        [npm!, ...NPM_INSTALL, join(clone, "packages", name)],
        at,
        { ...process.env, PATH: path?.join(":") },
      );
      expect(code).not.toBe(0);
      expect(stdout + stderr).toContain("First run: bun install, in the root of its repository.");
    },
  );
});
