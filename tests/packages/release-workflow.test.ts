import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmod, cp, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { type Ended, ok, root, run } from "./projects.ts";
import { type Files, makeKey, signerOf, sumsOf } from "./release.ts";
import { ARCHIVES, formula, installer } from "../../script/release-files.ts";
import { join } from "node:path";
import { skipIfMissing } from "../servers/require-server.ts";
import { tmpdir } from "node:os";
import { z } from "zod";

/*
 * The steps of .github/workflows/release.yml that hold a token or a key, run as GitHub runs them, with
 * stand-ins for npm and gh, and a tap in a folder.
 */

setDefaultTimeout(30_000);

const VERSION = "1.2.3";
const TAG = `v${VERSION}`;

const Workflow = z.object({
  jobs: z.record(
    z.string(),
    z.object({
      steps: z
        .array(z.object({ name: z.string().optional(), run: z.string().optional() }))
        .default([]),
    }),
  ),
});

let folder: string;
let jobs: z.infer<typeof Workflow>["jobs"];
let key: string;
/** A folder as the job has it, with the artifact in `files` and `packages`. */
let fresh: string;
let sha256: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "idk-release-workflow-"));
  const path = join(root, ".github/workflows/release.yml");
  ({ jobs } = Workflow.parse(Bun.YAML.parse(await readFile(path, "utf8"))));
  if (missing.length > 0) return;
  key = await makeKey(folder, "key");
  const release = { version: VERSION, releases: "https://github.com/owner/idk/releases" };
  const files: Files = new Map(
    [...ARCHIVES].map(([name, ending]) => [`idk-${VERSION}-${name}.${ending}`, `${name}\n`]),
  );
  const sums = sumsOf(files);
  files.set("SHA256SUMS", sums);
  files.set("install.sh", await installer(release, await signerOf(key)));
  files.set("idk.rb", await formula(release, sums));
  sha256 = sumsOf(files).trimEnd();
  fresh = join(folder, "fresh");
  await mkdir(join(fresh, "files"), { recursive: true });
  await mkdir(join(fresh, "packages"));
  for (const [name, content] of files) await writeFile(join(fresh, "files", name), content);
  for (const name of ["storage", "recorder", "cli"]) {
    await writeFile(join(fresh, "packages", `idk-${name}-${VERSION}.tgz`), `${name}\n`);
  }
});

afterAll(() => rm(folder, { recursive: true }));

async function newJob(): Promise<string> {
  const at = await mkdtemp(join(folder, "job-"));
  await cp(fresh, at, { recursive: true });
  return at;
}

/** Runs a step in the folder of its job. `standIns` are scripts that come first on the PATH. */
async function step(
  [job, name]: readonly [string, string],
  at: string,
  env: Record<string, string> = {},
  standIns: Record<string, string> = {},
): Promise<Ended> {
  const text = jobs[job]?.steps.find((step) => step.name === name)?.run;
  if (text === undefined) throw new Error(`the job ${job} has no step ${name}`);
  expect(text).not.toContain("${{");
  const bin = await mkdtemp(join(folder, "bin-"));
  for (const [program, script] of Object.entries(standIns)) {
    await writeFile(join(bin, program), `#!/bin/sh\n${script}\n`);
    await chmod(join(bin, program), 0o755);
  }
  const script = join(bin, "step.sh");
  await writeFile(script, text);
  return run(["bash", "-e", script], at, {
    PATH: `${bin}:${process.env["PATH"]}`,
    HOME: bin,
    TMPDIR: bin,
    CALLS: join(at, "calls"),
    GITHUB_REF_NAME: TAG,
    GITHUB_REPOSITORY: "owner/idk",
    GITHUB_SERVER_URL: "https://github.com",
    ...env,
  });
}

const callsIn = async (at: string): Promise<string[]> =>
  (await readFile(join(at, "calls"), "utf8")).trimEnd().split("\n");

const missing = ["ssh-keygen", "sha256sum", "openssl", "git"].filter(
  (name) => Bun.which(name) === null,
);

skipIfMissing(missing)("the release workflow", () => {
  const CHECKS = [
    ["release", "Check that these are the files that were tried", "files"],
    ["publish", "Check that these are the packages that were tested", "packages"],
  ] as const;

  describe.each(CHECKS)("the job %s", (job, name, artifact) => {
    const sums = async () => {
      if (artifact === "files") return sha256;
      const at = join(fresh, artifact);
      const contents = await Promise.all(
        (await readdir(at)).map(async (name) => [name, await readFile(join(at, name))] as const),
      );
      return sumsOf(new Map(contents)).trimEnd();
    };

    test("takes the files that were built", async () => {
      expect(await step([job, name], await newJob(), { SHA256: await sums() })).toMatchObject({
        code: 0,
      });
    });

    test("refuses a changed file, one too many, and one too few", async () => {
      const env = { SHA256: await sums() };
      const [file = ""] = await readdir(join(fresh, artifact));
      const [changed, more, fewer] = [await newJob(), await newJob(), await newJob()];
      await writeFile(join(changed, artifact, file), "changed");
      await writeFile(join(more, artifact, "idk-more"), "more");
      await rm(join(fewer, artifact, file));
      for (const at of [changed, more, fewer]) {
        expect((await step([job, name], at, env)).code).not.toBe(0);
      }
      expect((await step([job, name], await newJob(), { SHA256: "" })).code).not.toBe(0);
    });
  });

  describe("signs", () => {
    const STEP = ["release", "Sign the checksums"] as const;

    test("so that the keys of the installer verify it, and keeps no key", async () => {
      const at = await newJob();
      const secret = await readFile(key, "utf8");
      const { code, stdout, stderr } = await step(STEP, at, { KEY: secret.trimEnd() });
      expect({ code, stderr }).toMatchObject({ code: 0 });
      expect(stdout).toContain('Good "idk-release" signature for release@idk');
      expect(await readdir(join(at, "files"))).toContain("SHA256SUMS.sig");
      const left = await ok(["grep", "-rl", "PRIVATE KEY", "."], folder);
      expect(left.trim().split("\n")).toEqual(["./key"]);
    });

    test("not without a key, nor with one that the installer does not trust", async () => {
      const none = await step(STEP, await newJob(), { KEY: "" });
      expect(none).toMatchObject({
        code: 1,
        stdout: expect.stringContaining("no secret RELEASE_SIGNING_KEY"),
      });
      const other = await makeKey(folder, `other-${crypto.randomUUID()}`);
      const wrong = await step(STEP, await newJob(), { KEY: await readFile(other, "utf8") });
      await rm(other);
      expect(wrong.code).not.toBe(0);
    });
  });

  describe("publishes", () => {
    const STEP = ["publish", "Publish"] as const;
    const FLAGS = "publish --ignore-scripts --provenance --access public --tag";
    const npm = (view: string) => `case $1 in view) ${view} ;; *) echo "$@" >>"$CALLS" ;; esac`;
    const absent = npm("echo 'npm error code E404' >&2; exit 1");

    test("the library before what depends on it", async () => {
      const at = await newJob();
      expect(await step(STEP, at, {}, { npm: absent })).toMatchObject({ code: 0 });
      expect(await callsIn(at)).toEqual([
        `${FLAGS} latest ./packages/idk-storage-1.2.3.tgz`,
        `${FLAGS} latest ./packages/idk-recorder-1.2.3.tgz`,
        `${FLAGS} latest ./packages/idk-cli-1.2.3.tgz`,
      ]);
    });

    test("a release candidate where npm install does not take it", async () => {
      const at = await newJob();
      for (const name of ["storage", "recorder", "cli"]) {
        await writeFile(join(at, `packages/idk-${name}-2.0.0-rc.1.tgz`), "");
      }
      await step(STEP, at, { GITHUB_REF_NAME: "v2.0.0-rc.1" }, { npm: absent });
      expect(await callsIn(at)).toEqual([
        `${FLAGS} next ./packages/idk-storage-2.0.0-rc.1.tgz`,
        `${FLAGS} next ./packages/idk-recorder-2.0.0-rc.1.tgz`,
        `${FLAGS} next ./packages/idk-cli-2.0.0-rc.1.tgz`,
      ]);
    });

    test("what an attempt before did not, if that was the same", async () => {
      const at = await newJob();
      const digest = new Bun.CryptoHasher("sha512").update("storage\n").digest("base64");
      const same = npm(`[ "$2" = @idk/storage@1.2.3 ] && echo sha512-${digest}`);
      expect(await step(STEP, at, {}, { npm: same })).toMatchObject({ code: 0 });
      expect(await callsIn(at)).toEqual([
        `${FLAGS} latest ./packages/idk-recorder-1.2.3.tgz`,
        `${FLAGS} latest ./packages/idk-cli-1.2.3.tgz`,
      ]);
    });

    test("nothing silently if other contents have that version", async () => {
      const at = await newJob();
      const other = `case $1 in view) echo sha512-other ;; *) echo "$@" >>"$CALLS"; exit 1 ;; esac`;
      expect((await step(STEP, at, {}, { npm: other })).code).not.toBe(0);
      expect((await callsIn(at)).length).toBe(1);
    });

    test("nothing that depends on the library if that was not published", async () => {
      const at = await newJob();
      const npm = 'echo "$@" >>"$CALLS"; exit 1';
      expect((await step(STEP, at, {}, { npm })).code).not.toBe(0);
      const published = (await callsIn(at)).filter((call) => call.startsWith("publish "));
      expect(published).toEqual([`${FLAGS} latest ./packages/idk-storage-1.2.3.tgz`]);
    });
  });

  describe("releases", () => {
    const STEP = ["release", "Release"] as const;
    const gh = { gh: 'echo "$@" >>"$CALLS"' };

    test("a draft with all files, and then for everyone", async () => {
      const at = await newJob();
      expect(await step(STEP, at, {}, gh)).toMatchObject({ code: 0 });
      const [create = "", edit] = await callsIn(at);
      expect(create).toStartWith(
        "release create v1.2.3 --repo owner/idk --verify-tag --draft --latest ",
      );
      for (const file of await readdir(join(fresh, "files")))
        expect(create).toContain(` files/${file}`);
      expect(edit).toBe("release edit v1.2.3 --repo owner/idk --draft=false --latest");
    });

    test("a candidate as one", async () => {
      const at = await newJob();
      await step(STEP, at, { GITHUB_REF_NAME: "v2.0.0-rc.1" }, gh);
      expect(await callsIn(at)).toEqual(Array(2).fill(expect.stringContaining("--prerelease")));
    });

    test("nothing if the upload fails", async () => {
      const at = await newJob();
      expect((await step(STEP, at, {}, { gh: 'echo "$@" >>"$CALLS"; exit 1' })).code).toBe(1);
      expect((await callsIn(at)).length).toBe(1);
    });
  });

  test("pushes the formula to the tap, once, and only the one that was built", async () => {
    const STEP = ["homebrew", "Update the formula"] as const;
    const tap = join(folder, "owner/homebrew-tap.git");
    const seed = join(folder, "seed");
    const author = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
    await ok(["git", "init", "--quiet", "--bare", "--initial-branch=main", tap], folder);
    await ok(["git", "init", "--quiet", "--initial-branch=main", seed], folder);
    await ok(["git", ...author, "commit", "--quiet", "--allow-empty", "-m", "first"], seed);
    await ok(["git", "push", "--quiet", tap, "main"], seed);
    const env = {
      KEY: "a key",
      TAP: "owner/homebrew-tap",
      SHA256: sha256,
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: `url.file://${folder}/.insteadOf`,
      GIT_CONFIG_VALUE_0: "git@github.com:",
    };
    for (let attempt = 0; attempt < 2; attempt++) {
      const { code, stderr } = await step(STEP, await newJob(), env);
      expect({ code, stderr }).toMatchObject({ code: 0 });
    }
    const log = await ok(["git", "log", "--format=%s", "main"], tap);
    expect(log).toBe("idk 1.2.3\nfirst\n");
    const pushed = await ok(["git", "show", "main:Formula/idk.rb"], tap);
    expect(pushed).toBe(await readFile(join(fresh, "files/idk.rb"), "utf8"));

    const forged = await newJob();
    await writeFile(join(forged, "files/idk.rb"), "forged");
    expect((await step(STEP, forged, env)).code).not.toBe(0);
    expect(await ok(["git", "log", "--format=%s", "main"], tap)).toBe(log);
  });
});
