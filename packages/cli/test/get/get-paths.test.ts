import { createStore, type Metadata, parseRecipient } from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createWorkspace, expectFailure } from "../support/cli.ts";
import { pathMatcher, typeMatcher } from "../../src/blobs/content-path.ts";

const workspace = await createWorkspace();
const { idk, ok, path, write } = workspace;

for (const folder of ["photos/may", "photos/june"]) mkdirSync(path(folder), { recursive: true });
for (const name of ["photos/may/a.jpg", "photos/may/b.png", "photos/june/a.jpg", "report.pdf"]) {
  write(name, `content of ${name}`);
}
await ok(["put", "photos", "report.pdf"]);

/** What `get` writes into a new folder, by relative path. */
let runs = 0;
async function fetched(...patterns: string[]): Promise<string[]> {
  runs += 1;
  const folder = `out-${runs}`;
  await ok(["get", ...patterns, "--output-dir", folder]);
  return readdirSync(path(folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`.slice(path(folder).length + 1))
    .toSorted();
}

describe("get PATH --output-dir", () => {
  test("fetches a path, a folder, and what patterns match", async () => {
    expect(await fetched("report.pdf")).toEqual(["report.pdf"]);
    expect(await fetched("photos/may")).toEqual(["photos/may/a.jpg", "photos/may/b.png"]);
    expect(await fetched("a.jpg")).toEqual(["photos/june/a.jpg", "photos/may/a.jpg"]);
    expect(await fetched("photos/*/a.*", "*.pdf")).toEqual([
      "photos/june/a.jpg",
      "photos/may/a.jpg",
      "report.pdf",
    ]);
    expect(await fetched("**/*.png")).toEqual(["photos/may/b.png"]);
  });

  test("works together with addresses, and fetches each content once", async () => {
    const address = await workspace.put("named by its address", "--no-name");
    expect(await fetched(address, "report.pdf", "*.pdf")).toEqual([address, "report.pdf"]);
  });

  test("fails for what matches nothing, and fetches the rest", async () => {
    const result = await idk(["get", "nothing*", "report.pdf", "--output-dir", "some"]);
    expect(result.stderr).toBe(
      "idk: no content has the path nothing*: `idk ls --long` lists the paths that your identities open\n" +
        "idk: 1 of 2 addresses failed\n",
    );
    expect(result.code).toBe(3);
    expect(readdirSync(path("some"))).toEqual(["report.pdf"]);
    const stranger = await ok(["keygen", "-o", "stranger.key"]);
    expect(stranger.stdout).toStartWith("idk1");
    const closed = await idk(["get", "report.pdf", "--output-dir", "none", "-i", "stranger.key"]);
    expect(closed.code).toBe(3);
  });

  test("names blobs that cannot be read, because they may be what was meant", async () => {
    const env = { IDK_STORE: "damaged" };
    const put = async (name: string) =>
      (await ok(["put", "-", "--name", name], { env, stdin: name })).stdout.trim();
    await put("good");
    const bad = await put("bad");
    writeFileSync(path(`damaged/${bad.slice(0, 2)}/${bad}`), "nothing of the kind");
    const result = await idk(["get", "good", "--output-dir", "partly"], { env });
    expect(result.stderr).toBe(
      "idk: note: 1 blob could not be read and may have this path: `idk ls --long` lists them\n",
    );
    expect(result.code).toBe(0);
    expect(readdirSync(path("partly"))).toEqual(["good"]);
    const missed = await idk(["get", "bad", "--output-dir", "missed"], { env });
    expect(missed.stderr).toContain("no content has the path bad");
    expect(missed.stderr).toContain(`the blob ${bad} is damaged or was replaced`);
    expect(missed.code).toBe(5);
  });

  test("gives contents of one path the same names in each run", async () => {
    const store = createStore({
      backend: filesystem(path("twice")),
      recipients: [parseRecipient(workspace.recipient)],
    });
    const put = async (metadata: Metadata) => store.put(crypto.randomUUID(), { metadata });
    const all = await Promise.all(Array.from({ length: 5 }, async () => put({ name: "same" })));
    const env = { IDK_STORE: "twice" };
    const names = async () => {
      rmSync(path("twice-out"), { recursive: true, force: true });
      const { stderr } = await ok(["get", "same", "--output-dir", "twice-out"], { env });
      expect(stderr).toStartWith(
        `idk: note: 5 contents have the path same: ${all.toSorted().join(", ")}\n`,
      );
      const pattern = await ok(["get", "sam*", "--output-dir", "twice-out"], { env });
      expect(pattern.stderr).not.toContain("5 contents");
      return readdirSync(path("twice-out")).toSorted();
    };
    const [first] = all.toSorted();
    const expected = [
      "same",
      ...all.filter((each) => each !== first).map((each) => `same~${each.slice(0, 8)}`),
    ];
    expect(await names()).toEqual(expected.toSorted());
    expect(await names()).toEqual(expected.toSorted());
  });

  test("is only for folders, and refuses what is malformed or looks like a secret", async () => {
    expectFailure(
      await idk(["get", "report.pdf"]),
      2,
      "ADDRESS must be 64 lowercase hexadecimal digits, as `idk put` prints them, or at least the " +
        "first 20; with --output-dir, stored paths also work",
    );
    const get = async (pattern: string) => idk(["get", pattern, "--output-dir", "refused"]);
    expectFailure(await get("[a"), 2, 'the pattern "[a" is malformed: a [ is not closed');
    expectFailure(await get("/"), 2, '"/" is not a stored path');
    expectFailure(await get(""), 2, "ADDRESS must be 64 lowercase");
    const secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    const refused = await get(secret);
    expectFailure(refused, 2, "It looks like a secret key; if it is a stored path, write ./PATH");
    expect(refused.stderr).not.toContain("MDENG");
    expect((await get(`./${secret}`)).code).toBe(3);
    expectFailure(await get("deadbeef"), 2, "ADDRESS deadbeef is too short");
  });
});

describe("patterns", () => {
  test.each<[pattern: string, matching: string[], others: string[]]>([
    ["a.jpg", ["a.jpg", "x/a.jpg", "a.jpg/x"], ["xa.jpg", "a.jpgx", "x/a.jpg/y"]],
    ["x/y", ["x/y", "x/y/z", "./x//y"], ["z/x/y", "x", "x/yy"]],
    ["x/", ["x", "x/y", "y/x"], ["xy"]],
    ["*.jpg", ["a.jpg", "x/a.jpg"], ["a.jpg/b", ""]],
    ["x/*", ["x/y"], ["x", "x/y/z", "w/x/y"]],
    ["x/**", ["x/y", "x/y/z"], ["x", "w/x/y"]],
    ["caf\u00e9", ["cafe\u0301", "x/caf\u00e9"], ["cafe"]],
    ["../x", ["../x"], ["x"]],
  ])("%s", async (pattern, matching, others) => {
    const matches = await pathMatcher(pattern);
    expect(matching.filter((each) => !matches(each))).toEqual([]);
    expect(others.filter(matches)).toEqual([]);
  });

  test.each<[pattern: string, matching: string[], others: string[]]>([
    ["image/png", ["image/png", "Image/PNG; q=1"], ["image/x-png"]],
    ["image/*", ["image/png", "image/jpeg"], ["video/mp4", "image"]],
    ["image", ["image/png"], ["imagex/png", "x/image"]],
  ])("of types: %s", async (pattern, matching, others) => {
    const matches = await typeMatcher(pattern);
    expect(matching.filter((each) => !matches(each))).toEqual([]);
    expect(others.filter(matches)).toEqual([]);
  });
});
