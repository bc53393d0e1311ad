/**
 * Backups by the command beside restic and kopia, each with its defaults: many small files, a large file
 * that changes in place, the walk of very many files, and pruning. Processes, start-up included.
 */
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import {
  type BackupProgram,
  idkBackups,
  kopiaBackups,
  resticBackups,
} from "../../../thirdparty/backup-programs.ts";
import { purge } from "../../../thirdparty/contenders.ts";
import { withFolder, writeRandomFile } from "../../harness/files.ts";
import { type Program, publishedCommand, runAside } from "../../harness/processes.ts";
import { type Findings, type Lookup, type Sample, together } from "../../harness/results.ts";
import { type Sampled, sampleLanes } from "../../harness/sampling.ts";
import { exactTarget, ratioTarget, timeTarget } from "../../harness/targets.ts";
import type { Target } from "../../report/report.ts";
import { seededRandom } from "../../statistics/random.ts";
import type { SuiteContext } from "../../suite.ts";
import { peersFrom } from "../command/peer-programs.ts";
import { changeFiles, changeInPlace, expectEqual, makeFiles } from "./many-files.ts";

const MIB = 2 ** 20;
const PEERS = ["restic", "kopia"] as const;
type Name = "idk" | (typeof PEERS)[number];
type Run = (program: Program) => Promise<Sample & { readonly stdout: string }>;

/** A program with a new repository, and an empty folder. */
interface Site extends Required<Omit<BackupProgram, "init">> {
  readonly name: Name;
  readonly home: string;
  put(path: string): Program;
}

interface Part {
  readonly names: readonly Name[];
  readonly steps: readonly string[];
  /** Further steps, of idk alone. */
  readonly own?: readonly string[];
  fill(source: string): Promise<void>;
  /** A sample for each step. */
  measure(run: Run, site: Site, source: string): Promise<Sample[]>;
  targets(of: Lookup): readonly Target[];
}

export async function snapshotsPeers(context: SuiteContext): Promise<Findings> {
  const script = await publishedCommand();
  const found: Findings[] = [];
  const { options, env, log } = context;
  const parts = partsOf(context);
  for (const name of String(options?.["parts"] ?? Object.keys(parts)).split(",")) {
    const part = parts[name];
    if (part === undefined) throw new Error(`there is no part ${name}`);
    log(name);
    found.push(await measurePart(part, script, context));
  }
  const { IDK_PEER_VERSIONS: versions = "of unknown versions" } = env;
  return together([...found, { notes: [`The programs: ${versions}.`] }]);
}

function partsOf({ quick, seed, sizes, options }: SuiteContext): Readonly<Record<string, Part>> {
  const random = seededRandom(seed);
  const count = Number(options?.["manyFiles"] ?? (quick ? 500 : 100_000));
  const [size = (quick ? 100 : 1000) * MIB] = sizes ?? [];
  const relative = (of: Lookup, step: string, most: number): Target => {
    const peers = PEERS.filter((name) => name === "restic" || step !== "prune");
    const [fastest] = peers
      .map((name) => of(`${step}, ${name}`))
      .toSorted((a, b) => a.distribution.p50 - b.distribution.p50);
    const sides = { of: of(`${step}, idk`), to: fastest! };
    return ratioTarget(`${step}: time to that of the fastest peer`, sides, { most });
  };
  const within = (of: Lookup, step: string, most: number): Target =>
    timeTarget(`${step}: time`, of(`${step}, idk`), { most });
  const peaks = (of: Lookup, steps: readonly string[], most: number): Target[] =>
    steps.map((step) => {
      const { peakRss = Number.NaN } = of(`${step}, idk`);
      return exactTarget(`${step}: peak memory`, peakRss, "bytes", { most: most * MIB });
    });

  const small: Part = {
    names: ["idk", ...PEERS],
    steps: ["first backup", "nothing changed", "clustered", "scattered", "restore"],
    fill: (source) => makeFiles(source, count, random),
    async measure(run, { backup, restore, home }, source) {
      const samples = [await run(backup), await run(backup)];
      for (const spread of ["clustered", "scattered"] as const) {
        changeFiles(source, spread, random);
        samples.push(await run(backup));
      }
      const restored = join(home, "restored");
      samples.push(await run(restore(restored)));
      await expectEqual(source, restored);
      return samples;
    },
    targets: (of) => [
      ...["first backup", "clustered", "scattered"].map((step) => relative(of, step, 0.5)),
      within(of, "nothing changed", 0.8),
      relative(of, "restore", 0.9),
      ...peaks(of, ["first backup", "nothing changed", "scattered", "restore"], 200),
    ],
  };

  let sent = 0;
  const large: Part = {
    names: ["idk", ...PEERS],
    steps: ["large", "large, changed"],
    own: ["put"],
    fill: (source) => writeRandomFile(join(source, "large"), size),
    async measure(run, { name, backup, put }, source) {
      const file = join(source, "large");
      const first = await run(backup);
      const changed = await changeInPlace(file, random);
      const second = await run(backup);
      if (name !== "idk") return [first, second];
      const { storedBytes } = JSON.parse(second.stdout) as { storedBytes: number };
      sent = Math.max(sent, storedBytes / changed);
      return [first, second, await run(put(file))];
    },
    targets: (of) => {
      const sides = { of: of("large, idk"), to: of("put, idk") };
      return [
        ratioTarget("large: time to that of idk put", sides, { most: 1 }),
        // Random bytes: less is a change that was not found.
        exactTarget("large, changed: sent to changed", sent, "ratio", { least: 1, most: 1.2 }),
        ...peaks(of, ["large", "large, changed"], 200),
      ];
    },
  };

  const walk = (step: string, group: number): Part => ({
    names: ["idk"],
    steps: [`${step}, first`, `${step}, unchanged`],
    fill: (source) => makeFiles(source, count * 10, random, { size: 0, group }),
    async measure(run, { backup }) {
      const samples = [await run(backup), await run(backup)];
      const files = samples.map(({ stdout }) => (JSON.parse(stdout) as { files: number }).files);
      if (files.some((found) => found !== count * 10)) {
        throw new Error(`backups of ${count * 10} files have ${files.join(" and ")}`);
      }
      return samples;
    },
    targets: (of) => [
      within(of, `${step}, unchanged`, 8),
      ...peaks(of, [`${step}, first`, `${step}, unchanged`], 256),
    ],
  });

  const pruning: Part = {
    names: ["idk", "restic"],
    steps: ["prune"],
    fill: (source) => makeFiles(source, count, random),
    async measure(run, { backup, forget, prune }, source) {
      for (let snapshot = 0; snapshot < 30; snapshot++) {
        changeFiles(source, "scattered", random);
        await run(backup);
      }
      await run(forget(15));
      return [await run(prune)];
    },
    targets: (of) => [relative(of, "prune", 0.1)],
  };
  const many = { deep: walk("in folders of 100", 100), wide: walk("in one folder", Infinity) };
  return { small, large, ...many, pruning };
}

function measurePart(part: Part, script: string, context: SuiteContext): Promise<Sampled> {
  const { env, signal, quick, iterations, log } = context;
  const [store, peers] = [context.store!, peersFrom(env)];
  const run: Run = (program) => runAside({ ...program, signal });
  return withFolder(async (folder) => {
    const source = join(folder, "source");
    mkdirSync(source);
    await part.fill(source);
    const sample = (name: Name) => () =>
      withFolder(async (home) => {
        const prefix = `${store.prefix}peers-${randomBytes(6).toString("hex")}/`;
        const access = { ...store, prefix };
        const setting = { source, home, access };
        const idk = await idkBackups(script, setting);
        const own = {
          idk,
          restic: resticBackups(peers, setting),
          kopia: kopiaBackups(peers, setting),
        }[name];
        try {
          if (own.init !== undefined) await run(own.init);
          const samples = await part.measure(run, { ...own, name, home, put: idk.put }, source);
          log(`${name}: ${samples.map(({ seconds }) => seconds.toFixed(2)).join(", ")} s`);
          return samples;
        } finally {
          await purge({ folder: home, store, peers }, prefix);
        }
      });
    const lanes = part.names.map((name) => ({
      labels: [...part.steps, ...(name === "idk" ? (part.own ?? []) : [])].map((step) => ({
        name: `${step}, ${name}`,
        series: step,
      })),
      sample: sample(name),
    }));
    const sampling = { rounds: iterations ?? (quick ? 1 : 5), warmups: 0, signal };
    return sampleLanes(lanes, sampling, part.targets);
  });
}
