import { describe, expect, test } from "bun:test";
import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { createWorkspace, expectFailure, noise } from "../support/cli.ts";

const MISSING = "f".repeat(64);

const workspace = await createWorkspace();
const { idk, ok, put } = workspace;
const good = await put("good");
const tree = await put(noise(2 ** 20 + 1), "--chunk-size", "256K");
const chunk = (await ok(["ls"])).stdout
  .trim()
  .split("\n")
  .find((name) => name !== good && name !== tree)!;

/** Lets a test damage a blob, and restores it afterwards. */
const broken = async (
  address: string,
  damage: (file: string) => void,
  run: () => Promise<void>,
) => {
  const file = workspace.blob(address);
  const bytes = readFileSync(file);
  damage(file);
  try {
    await run();
  } finally {
    writeFileSync(file, bytes);
  }
};
const flip = (file: string) => {
  const bytes = readFileSync(file);
  bytes[bytes.length >> 1]! ^= 1;
  writeFileSync(file, bytes);
};

test("prints nothing on standard output for an intact store", async () => {
  const all = await ok(["verify"]);
  expect(all.stdout).toBe("");
  expect(all.stderr).toMatch(
    /^checked 7 blobs, \d+ bytes \(1\.\d MiB\); none failed\nidk: note: missing chunks are not detected; --complete detects them, without downloading chunks\n$/u,
  );
  const deep = await ok(["verify", "--deep"]);
  expect(deep.stderr).toContain("7 blobs");
  expect(deep.stderr).toContain(
    "2 roots with all content, 5 by address and format only; none failed",
  );
  expect((await ok(["verify", good, tree])).stderr).toStartWith("checked 2 blobs");
});

test("--json prints an object per blob", async () => {
  const { stdout } = await ok(["verify", "--deep", "--json"]);
  const items = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { ok: boolean; deep: boolean });
  expect(items.length).toBe(7);
  expect(items.filter((item) => item.ok && item.deep).length).toBe(2);
});

test("checks other recipients' roots without decrypting", async () => {
  await ok(["keygen", "-o", "other.key"]);
  const other = await ok(["verify", "--deep", "-i", "other.key"]);
  expect(other.stderr).toContain(
    "0 roots with all content, 7 by address and format only (including 2 roots that no identity opens)",
  );
  const named = await idk(["verify", "--deep", good, "-i", "other.key"]);
  expect(named.stdout).toStartWith(`${good} no-match: `);
  expect(named.code).toBe(4);
});

test.each<[what: string, damage: (file: string) => void]>([
  ["a flipped bit", flip],
  ["a truncated file", (file) => truncateSync(file, 100)],
  ["an emptied file", (file) => truncateSync(file, 0)],
  ["a foreign file", (file) => writeFileSync(file, "this was never a blob")],
  ["another blob", (file) => copyFileSync(workspace.blob(chunk), file)],
])("detects %s", async (_, damage) => {
  await broken(good, damage, async () => {
    const all = await idk(["verify"]);
    expect(all.stdout).toMatch(new RegExp(`^${good} address: [^\\n]+\\n$`, "u"));
    expect(all.stderr).toMatch(/^checked 7 blobs[^\n]*1 failed\n/u);
    expect(all.stderr).toEndWith("\nidk: 1 of 7 blobs failed\n");
    expect(all.code).toBe(5);
    const got = await idk(["get", good]);
    expectFailure(got, 5, good);
    expect(got.stdout).toBe("");
  });
});

test("does not read an overlong file to its end", async () => {
  await broken(
    good,
    (file) => truncateSync(file, 2 ** 40),
    async () => {
      const { stdout, code } = await idk(["verify", good]);
      expect(stdout).toStartWith(`${good} limit: `);
      expect(code).toBe(5);
    },
  );
});

test("continues after a failure, and exits with the worst code", async () => {
  await broken(chunk, flip, async () => {
    const { stdout, stderr, code } = await idk(["verify", MISSING, good, chunk]);
    const lines = stdout.trim().split("\n").toSorted();
    expect(lines.map((line) => line.split(": ")[0])).toEqual(
      [`${chunk} address`, `${MISSING} not-found`].toSorted(),
    );
    expect(stderr).toContain("idk: 2 of 3 blobs failed");
    expect(code).toBe(5);

    const json = await idk(["verify", MISSING, good, chunk, "--json"]);
    const items = json.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { ok: boolean });
    expect(items.filter((item) => !item.ok).length).toBe(2);
    expect(JSON.parse(json.stderr.trim().split("\n").at(-1)!)).toEqual({
      error: { code: "address", message: "2 of 3 blobs failed" },
    });

    const deep = await idk(["verify", "--deep", tree]);
    expect(deep.stdout).toStartWith(`${tree} address: `);
    expect(deep.code).toBe(5);
  });
  expect((await idk(["verify", MISSING])).code).toBe(3);
});

test("--deep detects a missing chunk, and rejects a chunk as a root", async () => {
  const file = workspace.blob(chunk);
  await broken(
    chunk,
    () => rmSync(file),
    async () => {
      const { stdout, code } = await idk(["verify", "--deep"]);
      expect(stdout).toMatch(new RegExp(`^${tree} not-found: [^\\n]*${chunk}\\n$`, "u"));
      expect(code).toBe(3);
      await ok(["verify"]);
    },
  );
  const named = await idk(["verify", "--deep", chunk]);
  expect(named.stdout).toStartWith(`${chunk} usage: this is a chunk`);
  expect(named.code).toBe(2);
  expectFailure(await idk(["get", chunk]), 5, /./u);
});

test("ignores other files in the store's folder", async () => {
  workspace.write("blobs/notes.txt", "mine");
  writeFileSync(`${dirname(workspace.blob(good))}/README`, "mine");
  await ok(["verify"]);
  expect((await ok(["ls"])).stdout.trim().split("\n").length).toBe(7);
});

test("reports a folder in place of a blob as unavailable", async () => {
  const name = "0".repeat(64);
  mkdirSync(workspace.blob(name), { recursive: true });
  expectFailure(await idk(["get", name]), 6, name);
  rmSync(workspace.blob(name), { recursive: true });
});

describe("--complete", () => {
  test("checks that all chunks are there, of one root and of all", async () => {
    const all = await ok(["verify", "--complete"]);
    expect([all.stdout, all.stderr]).toEqual([
      "",
      expect.stringMatching(
        /^checked 2 roots; the store reports all chunks, \d+ bytes \(1\.\d MiB\): 0 of 5 chunks by server checksum, 5 by size; none failed\n$/u,
      ),
    ]);
    expect((await ok(["verify", "--complete", good])).stderr).toStartWith(
      "checked 1 root; the store reports all chunks, ",
    );
    const { stdout } = await ok(["verify", "--complete", tree, "--json"]);
    expect(JSON.parse(stdout)).toEqual({
      ok: true,
      address: tree,
      kind: "root",
      blobs: 6,
      bytes: expect.any(Number),
      attested: false,
      deep: false,
      complete: true,
      chunks: 5,
      attestedChunks: 0,
    });
  });

  test("finds what the check of blobs does not, and reads no chunk", async () => {
    await broken(
      chunk,
      (file) => rmSync(file),
      async () => {
        expect((await ok(["verify"])).stderr).toContain("--complete detects them");
        for (const args of [[], [tree]]) {
          const { stdout, stderr, code } = await idk(["verify", "--complete", ...args]);
          expect(stdout).toBe(
            `${tree} not-found: the store has no blob ${chunk}, a chunk of ${tree}\n`,
          );
          expect(stderr).toContain("1 failed\n");
          expect(code).toBe(3);
        }
      },
    );
    await broken(chunk, flip, async () => {
      await ok(["verify", "--complete", tree]);
    });
    await broken(
      chunk,
      (file) => truncateSync(file, 100),
      async () => {
        const { stdout, code } = await idk(["verify", "--complete", tree]);
        expect(stdout).toStartWith(`${tree} tree: the leaf ${chunk} does not have the length`);
        expect(code).toBe(5);
      },
    );
  });

  test("names the roots that no identity opens, and needs one", async () => {
    const stranger = (await ok(["keygen", "-o", "stranger.key"])).stdout.trim();
    const other = await idk(["verify", "--complete", "-i", "stranger.key"]);
    expect(other.stderr).toBe(
      "no root opened: nothing was checked; none failed; 2 roots for other recipients not checked\n" +
        "idk: none of your identities opens a root of this store: nothing was checked for completeness\n",
    );
    expect(other.code).toBe(4);
    // Those of others are no failure beside own ones.
    await ok(["share", good, "-r", stranger]);
    const one = await ok(["verify", "--complete", "-i", "stranger.key"]);
    expect(one.stderr).toEndWith("none failed; 2 roots for other recipients not checked\n");
    const env = { IDK_IDENTITY: "" };
    expectFailure(await idk(["verify", "--complete"], { env }), 2, "no identity");
    for (const flag of ["--deep", "--server-checksums"]) {
      expectFailure(await idk(["verify", "--complete", flag]), 2, "--complete excludes");
    }
  });
});
