import { afterAll, beforeAll, expect, test } from "bun:test";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { makeArchives, makeKey, sign, signerOf, sumsOf } from "./release.ts";
import { installer } from "../../script/release-files.ts";
import { join } from "node:path";
import { readSession } from "../documents.ts";
import { root, run } from "./projects.ts";
import { skipIfMissing } from "../servers/require-server.ts";
import { tmpdir } from "node:os";

/* The commands of docs/install.md and docs/releasing.md that can be run without GitHub. */

const missing = ["ssh-keygen", "sha256sum"].filter((name) => Bun.which(name) === null);

skipIfMissing(missing)("the documents of a release", () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "idk-release-documents-"));
  });

  afterAll(() => rm(folder, { recursive: true }));

  test("verify a download by hand", async () => {
    const session = await readSession("docs/install.md", "sh verify");
    const verify = () => run(["bash", "-euc", session], at);
    const at = join(folder, "download");
    await mkdir(at);
    const files = await makeArchives(folder, "1.2.3", { platforms: ["linux-x64", "macos-x64"] });
    const sums = sumsOf(files);
    const key = await makeKey(folder, "key");
    const signer = await signerOf(key);
    await writeFile(join(at, "SHA256SUMS"), sums);
    await writeFile(join(at, "SHA256SUMS.sig"), await sign(folder, key, sums));
    // The file of the repository begins with a comment.
    await writeFile(join(at, "allowed_signers"), `# keys\n${signer}`);
    const archive = join(at, "idk-1.2.3-linux-x64.tar.gz");
    await writeFile(archive, files.get("idk-1.2.3-linux-x64.tar.gz")!);
    expect(await verify()).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^Good "idk-release" signature for release@idk .*\nidk-1\.2\.3-linux-x64\.tar\.gz: OK\n$/u,
      ),
    });

    await writeFile(archive, "changed");
    expect((await verify()).code).not.toBe(0);
    await writeFile(join(at, "SHA256SUMS"), `${sums}\n`);
    const forged = await verify();
    expect(forged.code).not.toBe(0);
    expect(forged.stdout).not.toContain("OK");
  });

  test("make a release key that the installer takes", async () => {
    const clone = join(folder, "clone");
    await cp(join(root, "packaging"), join(clone, "packaging"), { recursive: true });
    const session = await readSession("docs/releasing.md", "sh key");
    expect(await run(["bash", "-euc", session], clone)).toMatchObject({ code: 0, stderr: "" });
    const signers = await readFile(join(clone, "packaging/allowed_signers"), "utf8");
    const publicHalf = await readFile(join(folder, "idk-release-key.pub"), "utf8");
    const release = { version: "1.2.3", releases: "https://github.com/owner/idk/releases" };
    expect(await installer(release, signers)).toContain(publicHalf.trim());
    // The private half is outside of the clone.
    expect((await run(["grep", "-r", "PRIVATE", "."], clone)).stdout).toBe("");
  });
});
