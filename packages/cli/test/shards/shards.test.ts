import { describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { Report } from "../../src/shards/report.ts";
import { createWorkspace, expectFailure, noise, PASSPHRASE, type Result } from "../support/cli.ts";
import { withoutTimes } from "../support/merged.ts";
import { newUser } from "../support/new-user.ts";

setDefaultTimeout(60_000);

const { idk, ok, put, path } = await createWorkspace();
for (let at = 0; at < 12; at++) await put(noise(100, at));
const all = (await ok(["ls"])).stdout.trim().split("\n").toSorted();

const read = (name: string): Report => JSON.parse(readFileSync(path(name), "utf8")) as Report;
const verify = (shard: string, report: string, ...more: string[]) =>
  idk(["verify", "--shard", shard, "--report", report, ...more]);

describe("a shard", () => {
  test("is checked, recorded, and added up, with and without --json", async () => {
    for (const index of [1, 2, 3]) {
      const { code, stderr, stdout } = await verify(`${index}/3`, `${index}.json`);
      expect([code, stdout]).toEqual([0, ""]);
      expect(stderr).toStartWith(`shard ${index}/3: checked `);
    }
    const { position: _, ...one } = read("1.json");
    expect(one).toMatchObject({ command: "verify", shard: { index: 1, count: 3 }, failures: [] });
    const whole = await ok(["verify"]);
    const merged = await ok(["merge-reports", "3.json", "1.json", "2.json"]);
    expect([withoutTimes(merged.stdout), merged.stderr]).toEqual([whole.stderr, ""]);
    const json = await ok(["merge-reports", "3.json", "1.json", "2.json", "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({
      command: "verify",
      shards: 3,
      blobs: all.length,
      failed: 0,
      begun: one.begun,
      ended: read("3.json").ended,
    });
  });

  test("continues after the last address that was done", async () => {
    await verify("1/1", "resumed.json");
    const report = read("resumed.json");
    const position = { place: 0, after: all[8]! };
    const counts = { ...report.counts, blobs: 9 };
    writeFileSync(
      path("resumed.json"),
      JSON.stringify({ ...report, ended: undefined, position, counts }),
    );
    const { stdout, stderr } = await verify("1/1", "resumed.json", "--json");
    const lines = stdout.trim().split("\n");
    expect(stderr).toStartWith('{"note":"shard 1/1: checked ');
    const checked = lines
      .slice(0, -1)
      .map((line) => (JSON.parse(line) as { address: string }).address);
    // In the order of completion.
    expect(checked.toSorted()).toEqual(all.slice(9));
    expect(JSON.parse(lines.at(-1)!)).toMatchObject({ blobs: all.length, failed: 0 });
  });

  test("that is complete is not worked on again", async () => {
    await verify("1/2", "complete.json");
    const before = readFileSync(path("complete.json"));
    const again = await verify("1/2", "complete.json");
    expect(again.stderr).toMatch(
      /^idk: shard 1\/2 is complete since [-:\d ]{19} UTC: delete complete\.json to work on it again\nshard 1\/2: checked /u,
    );
    expect(again.code).toBe(0);
    expect(readFileSync(path("complete.json"))).toEqual(before);
  });
});

describe("a store that is not mounted when a run continues", () => {
  /** A report as one of a run that was stopped, or of which some blobs were not answered for. */
  const change = (name: string, changed: Partial<Report>): Report => {
    const report = { ...read(name), ...changed };
    writeFileSync(path(name), JSON.stringify(report));
    return report;
  };
  const fileOf = (address: string): string => path(join("blobs", address.slice(0, 2), address));
  const withoutStore = async (run: () => Promise<void>): Promise<void> => {
    renameSync(path("blobs"), path("away"));
    mkdirSync(path("blobs"));
    try {
      await run();
    } finally {
      rmSync(path("blobs"), { recursive: true });
      renameSync(path("away"), path("blobs"));
    }
  };
  const expectStopped = ({ code, stderr }: Result): void => {
    expect(stderr).toContain(
      "idk: filesystem blobs has no blobs now, but it had some before: check the path or the mount",
    );
    expect(code).toBe(6);
  };

  test.each(["blob", "complete"])(
    "does not count unanswered blobs as removed: depth %s",
    async (depth) => {
      const name = `unmounted-${depth}.json`;
      const more = depth === "complete" ? ["--complete"] : [];
      await verify("1/1", name, ...more);
      const { counts } = read(name);
      const key = depth === "complete" ? "roots" : "blobs";
      const code = "unavailable" as const;
      const retried = all.slice(0, 3).map((address) => ({
        place: 0,
        name: address,
        size: statSync(fileOf(address)).size,
        code,
      }));
      const left = change(name, {
        counts: { ...counts, [key]: all.length - retried.length },
        failed: { unavailable: retried.length },
        failures: retried.map(({ name: item, code }) => ({ item, code, message: "busy" })),
        unanswered: retried,
      });
      await withoutStore(async () => {
        expectStopped(await verify("1/1", name, ...more));
        expect(read(name)).toEqual(left);
      });
      renameSync(fileOf(all[0]!), path("kept"));
      const answered = await verify("1/1", name, ...more);
      renameSync(path("kept"), fileOf(all[0]!));
      expect(answered.code).toBe(0);
      expect(read(name).counts).toMatchObject({ [key]: all.length - 1, removed: 1 });
    },
  );

  test("is not taken for the end of the store", async () => {
    await verify("1/1", "unmounted.json");
    const { counts } = read("unmounted.json");
    const left = change("unmounted.json", {
      ended: undefined,
      position: { place: 0, after: all[8]! },
      counts: { ...counts, blobs: 9 },
    });
    await withoutStore(async () => {
      expectStopped(await verify("1/1", "unmounted.json"));
      expect(read("unmounted.json")).toEqual(JSON.parse(JSON.stringify(left)) as Report);
    });
    await verify("1/1", "unmounted.json");
    expect(read("unmounted.json").counts["blobs"]).toBe(all.length);
  });
});

describe("errors", () => {
  test.each<[readonly string[], string]>([
    [["verify", "--shard", "0/4", "--report", "x.json"], "--shard must be I/N"],
    [["verify", "--shard", "5/4", "--report", "x.json"], "--shard must be I/N"],
    [["copy", "--from", "a", "--to", "b", "--shard", "1/2"], "--shard needs --report FILE"],
    [["verify", "--report", "x.json"], "--report needs --shard I/N"],
    [["gateway", "check", "--shard", "1/2"], "--shard needs --report FILE"],
    [["verify", all[0]!, "--shard", "1/2", "--report", "x.json"], "omit the addresses"],
    [
      ["prune", "--shard", "1/2", "--report", "x.json"],
      "--shard needs --dry-run, or --accept-lost",
    ],
    [
      ["check", "--read-data", "--delete-damaged", "--shard", "1/2", "--report", "x.json"],
      "--delete-damaged needs all of the store",
    ],
    [
      ["check", "--read-data=10%", "--shard", "1/2", "--report", "x.json"],
      "with --shard, --read-data reads all packs: omit the percentage",
    ],
    [
      ["verify", "--shard", "1/2", "--report", "nowhere/x.json"],
      "cannot write the report nowhere/x.json: no such file or folder",
    ],
    [["merge-reports"], "missing required argument"],
    [["merge-reports", "none.json"], "cannot read the report none.json: no such file"],
    [["merge-reports", "me.key"], "me.key is not a report of this version of idk"],
    [["merge-reports", "/dev/zero"], "/dev/zero is not a regular file, so it is no report"],
  ])("%p", async (args, message) => {
    expectFailure(await idk(args), 2, message);
  });

  test("the report of something else is not continued, and stays as it is", async () => {
    await verify("1/4", "kept.json");
    const before = readFileSync(path("kept.json"));
    await ok(["put", "-", "--store", "other"], { stdin: "other" });
    const copy = [
      "copy",
      "--from",
      "blobs",
      "--to",
      "b",
      "--shard",
      "1/4",
      "--report",
      "kept.json",
    ];
    for (const [result, message] of [
      [await verify("1/8", "kept.json"), "kept.json is the report of the shard 1/4, not 1/8"],
      [await verify("2/4", "kept.json"), "kept.json is the report of the shard 1/4, not 2/4"],
      [await verify("1/4", "kept.json", "--deep"), "of a run with depth set to blob, not deep"],
      [
        await verify("1/4", "kept.json", "--store", "other"),
        `kept.json is the report of the store folder ${path("blobs")}, not folder ${path("other")}`,
      ],
      [await idk(copy), "kept.json is the report of the command verify, not copy"],
    ] as const) {
      expectFailure(result, 2, message);
      expect(readFileSync(path("kept.json"))).toEqual(before);
    }
  });

  test("a report with more failures than it counts is refused", async () => {
    await verify("1/4", "forged.json");
    const report = JSON.parse(readFileSync(path("forged.json"), "utf8")) as object;
    const failures = [{ code: "address", message: "damaged" }];
    writeFileSync(path("forged.json"), JSON.stringify({ ...report, failures }));
    expectFailure(
      await idk(["merge-reports", "forged.json"]),
      2,
      "is not a report of this version",
    );
  });

  test("no report has a secret", () => {
    for (const name of ["1.json", "kept.json"]) {
      expect(readFileSync(path(name), "utf8")).not.toMatch(/SECRET|password/iu);
      expect(readFileSync(path(name), "utf8")).not.toContain(PASSPHRASE);
    }
  });
});

describe("snapshots", () => {
  test("are pruned by shards as by a whole prune", async () => {
    const user = await newUser();
    await user.ok(["backup", "docs", "--name", "docs"]);
    const part = (index: number, ...more: string[]): string[] => [
      "prune",
      ...more,
      "--shard",
      `${index}/2`,
      "--report",
      `${index}.json`,
    ];
    const kept = JSON.parse((await user.ok(["prune", "--dry-run", "--json"])).stdout) as {
      kept: { blobs: number; bytes: number };
    };
    for (const index of [1, 2]) await user.ok(part(index, "--dry-run"));
    const merged = await user.ok(["merge-reports", "1.json", "2.json", "--json"]);
    expect(JSON.parse(merged.stdout)).toMatchObject({
      command: "prune",
      deletedBlobs: 0,
      keptBlobs: kept.kept.blobs,
      keptBytes: kept.kept.bytes,
      missing: 0,
    });
    expectFailure(
      await user.idk(part(1, "--accept-lost")),
      2,
      "a run with dry-run set to true, not false",
    );
  });

  test("that lost their markers end a prune by shards, which no other run of it would mend", async () => {
    const user = await newUser();
    const repo = join(user.store, "repo");
    // A head that is younger may be that of a backup which is about to write its marker.
    await user.ok(["repo", "init", "--grace-period", "1h"]);
    await user.ok(["backup", "docs", "--name", "kept"]);
    const kept = readdirSync(join(repo, "heads"));
    await user.ok(["backup", "docs", "--name", "lost"]);
    for (const name of readdirSync(repo, { recursive: true, encoding: "utf8" })) {
      const time = Date.now() / 1000 - 2 * 3600;
      if (/[0-9a-f]{64}$/u.test(name)) utimesSync(join(repo, name), time, time);
    }
    for (const chain of readdirSync(join(repo, "heads"))) {
      if (!kept.includes(chain)) rmSync(join(repo, "heads", chain), { recursive: true });
    }
    // Otherwise the state of the machine knows that there was one.
    rmSync(join(user.home, ".local/state"), { recursive: true });
    const part = ["prune", "--dry-run", "--shard", "1/1", "--report", "1.json"];
    expectFailure(await user.idk(part), 5, "recover");
    await user.ok(["recover"]);
    await user.ok(part);
  });

  test("of others count as failed in the report of a check, with and without --json", async () => {
    const user = await newUser();
    const config = readFileSync(user.config, "utf8");
    const other = (await user.ok(["keygen", "-o", "other.key"])).stdout.trim();
    await user.ok(["backup", "docs", "--name", "own"]);
    const heads = join(user.store, "repo/heads");
    const own = readdirSync(heads);
    writeFileSync(user.config, config.replace(/^recipients = .*$/mu, `recipients = ["${other}"]`));
    await user.ok(["backup", "docs", "--name", "other"]);
    writeFileSync(user.config, config);
    rmSync(join(user.home, ".local/state"), { recursive: true });
    // As if there were more of them.
    const chain = join(
      heads,
      readdirSync(heads).find((name) => !own.includes(name))!,
    );
    const [marker = ""] = readdirSync(chain);
    for (let at = 1; at <= 9; at++) {
      const generation = (BigInt(`0x${marker.slice(0, 16)}`) + BigInt(at)).toString(16);
      cpSync(join(chain, marker), join(chain, generation.padStart(16, "0") + marker.slice(16)));
    }
    const failed: unknown[] = [];
    for (const more of [[], ["--json"]]) {
      const report = `check${more.length}.json`;
      const { code } = await user.idk(["check", "--shard", "1/1", "--report", report, ...more]);
      expect(code).toBe(4);
      failed.push((JSON.parse(readFileSync(join(user.home, report), "utf8")) as Report).failed);
    }
    expect(failed).toEqual([{ "no-match": 10 }, { "no-match": 10 }]);
  });
});
