import { expect, test } from "bun:test";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  backup,
  check,
  createRepository,
  openRepository,
  ownerKeyOf,
  volatileHeadMemory,
} from "@idk/snapshots";
import { generateIdentity } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { noise } from "../../src/harness/content.ts";
import { seededRandom } from "../../src/statistics/random.ts";
import { neededPacks } from "../../src/suites/snapshots/needed-packs.ts";

/** Files and their bytes: the contents fill three packs. */
const [COUNT, LENGTH] = [30, 350_000];

test("the packs of contents and of folders are counted, and no others", async () => {
  const folder = await mkdtemp(join(tmpdir(), "idk-needed-packs-"));
  try {
    const [backend, identity, random] = [memory(), await generateIdentity(), seededRandom(1)];
    const recipients = [identity.recipient];
    const owner = ownerKeyOf(identity);
    const pinned = await createRepository({ backend, owner, recipients });
    const open = () =>
      openRepository({
        backend,
        identities: [identity],
        writer: owner,
        pinned,
        memory: volatileHeadMemory(),
      });
    const source = join(folder, "source");
    const write = async (): Promise<void> => {
      for (let index = 0; index < COUNT; index++) {
        await mkdir(join(source, String(index % 3)), { recursive: true });
        await writeFile(join(source, String(index % 3), String(index)), noise(LENGTH, random));
      }
      const cache = join(folder, "cache");
      const paths = [Buffer.from(source)];
      await backup(await open(), { name: "home", paths, recipients, cache });
    };
    const needed = () => neededPacks(backend, identity, "home");

    await write();
    const first = await check(await open());
    expect(first.packs - first.metadataPacks).toBe(3);
    expect(first.metadataPacks).toBeGreaterThan(0);
    expect(await needed()).toBe(first.packs);
    // Now the newest snapshot needs nothing that the first one needs.
    await write();
    const both = await check(await open());
    expect(both.snapshots).toBe(2);
    expect(await needed()).toBe(both.packs - first.packs);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
