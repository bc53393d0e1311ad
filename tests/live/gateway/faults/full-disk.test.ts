import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { skipIfMissing } from "../../../servers/require-server.ts";
import { smallDisk, smallDiskMissing } from "../../../servers/small-disk.ts";
import { s3Requests } from "../s3-requests.ts";
import { expectWhole } from "./afterwards.ts";
import { createContents } from "./contents.ts";
import { createHistory, isUnknown } from "./history.ts";
import { newLoad, readAll, repeatCompletes, underLoad } from "./load.ts";
import { violationOf } from "./checker/model.ts";
import { createWorld } from "./world.ts";

setDefaultTimeout(180_000);

const CLIENTS = 8;
const BUCKET = "faults";
/** In MiB: with some for the catalog's log, and much more later. */
const [SMALL, LARGE] = [24, 400];

skipIfMissing(await smallDiskMissing())("nothing is lost, and nothing is left, when", () => {
  test.each([
    ["the store's disk is full", "store"],
    ["the catalog's disk is full", "catalog"],
    ["the disk of both is full", "both"],
  ])("%s under load, until there is room again", async (_, which) => {
    await using disk = await smallDisk(SMALL);
    const folder = join(disk.folder, "store");
    await mkdir(folder);
    await using world = await createWorld({
      ...(which !== "catalog" && { folder }),
      ...(which !== "store" && { catalog: join(disk.folder, "catalog.sqlite") }),
    });
    const gateway = await world.serve();
    using requests = s3Requests(gateway);
    expect((await requests.send("PUT", `/${BUCKET}`)).status).toBe(200);
    const history = createHistory();
    const contents = createContents();
    const load = newLoad({
      requests,
      bucket: BUCKET,
      groups: ["x/", "y/", "z/"],
      history,
      contents,
    });
    // A catalog is not filled by a few keys, so something else fills its disk.
    const ballast = join(disk.folder, "ballast");
    if (which === "catalog") await Bun.write(ballast, new Uint8Array((SMALL - 2) * 2 ** 20));
    const failures = (): number =>
      history.calls().filter(({ operation }) => isUnknown(operation)).length;
    await underLoad(CLIENTS, load, async () => {
      if (which === "catalog") {
        await Bun.sleep(500);
        // What is left of the disk, without an error.
        await Bun.$`head -c 4194304 /dev/zero > ${ballast}-2`.nothrow().quiet();
      }
      const end = performance.now() + 30_000;
      while (failures() < 40 && performance.now() < end) await Bun.sleep(50);
      expect(failures()).toBeGreaterThanOrEqual(40);
      // What was stored can be read, however full it is.
      expect((await requests.send("GET", `/${BUCKET}?list-type=2`)).status).toBe(200);
      disk.resize(LARGE);
      const before = load.answered;
      while (load.answered < before + 100 && performance.now() < end) await Bun.sleep(50);
      expect(load.answered).toBeGreaterThanOrEqual(before + 100);
    });
    history.settle();
    await repeatCompletes(load);
    const objects = await readAll(load);
    expect(load.faults).toEqual([]);
    expect(load.unanswered).toEqual([]);
    expect(violationOf(history.calls()) ?? "").toBe("");
    console.log(`${which}: ${history.calls().length} requests, ${failures()} without an outcome`);
    expect(await gateway.stop()).toBe(0);
    await expectWhole(world, { bucket: BUCKET, objects, contents });
  });
});
